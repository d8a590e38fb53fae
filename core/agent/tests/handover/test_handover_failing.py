"""Handovers that fail: one agent is active afterwards, and the lock is where it can be had."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engine.course import State
from dragoman.engine.gate import Mode
from dragoman.engine.handover import ASK_AGAIN, DRAIN_WITHIN, HandoverRefused
from dragoman_hookspecs import DragomanError

from .twoagents import Line, World


async def test_an_operation_that_does_not_end_keeps_the_holder_active_and_the_newcomer_knows_why(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with old.gate.operation("prepare claim default/c1"), world.taking(new):
        await world.clock.advance(DRAIN_WITHIN)
        assert (old.state, old.gate.mode, new.state) == (State.ACTIVE, Mode.OPEN, State.ASKING)
        assert "not ended within 20 s: prepare claim default/c1" in new.handover.reason
    # What the runtime told meanwhile met a closed gate.
    assert old.node.steps == ["open_ledger", "recover", "take_calls", "become_active", "catch_up"]


@pytest.mark.parametrize("trouble", ["hangs", "fails"])
async def test_background_work_that_does_not_end_keeps_the_holder_active(world: World, trouble: str) -> None:
    old = await world.active()
    new = world.agent(old)
    if trouble == "hangs":
        old.node.hangs = "become_passive"
    else:
        old.node.fails["become_passive"] = DragomanError("the publisher does not stop")
    async with world.taking(new):
        await world.clock.advance(DRAIN_WITHIN)
        assert (old.state, old.gate.mode, old.lock.held) == (State.ACTIVE, Mode.OPEN, True)
        assert new.state is State.ASKING
        assert "is not handed over" in new.handover.reason
    assert old.node.steps[-4:] == ["become_passive", "recover", "take_calls", "become_active"]
    old.node.fails.clear()


async def test_a_newcomer_that_dies_while_the_holder_drains_changes_nothing(world: World) -> None:
    old = await world.active()
    line = Line(old.handover)
    line.close()
    with pytest.raises(HandoverRefused, match="process 9 is gone"):
        await old.handover.hand_over(line, "process 9")
    assert (old.state, old.gate.mode, old.lock.held) == (State.ACTIVE, Mode.OPEN, True)
    assert old.node.steps[-3:] == ["recover", "take_calls", "become_active"]


@pytest.mark.parametrize("step", ["recover", "take_calls", "become_active"])
async def test_a_holder_that_cannot_go_on_after_a_failed_handover_frees_the_lock_and_tries_again(
    world: World, step: str
) -> None:
    old = await world.active()
    line = Line(old.handover)
    line.close()
    old.node.fails[step] = DragomanError("a plugin does not start again")
    with pytest.raises(HandoverRefused, match="process 9 is gone"):
        await old.handover.hand_over(line, "process 9")
    assert (old.lock.held, old.node.ledger_open) == (False, False)
    assert (old.state, old.handover.reason) == (State.PASSIVE, "recovery failed: a plugin does not start again")
    await world.clock.advance(10 * ASK_AGAIN)
    assert old.state is State.PASSIVE
    old.node.fails.clear()
    await world.clock.advance(ASK_AGAIN)
    assert (old.state, old.gate.mode, old.lock.held) == (State.ACTIVE, Mode.OPEN, True)


async def test_a_handover_that_is_interrupted_by_the_end_of_the_agent_keeps_the_lock_until_it_stops(
    world: World,
) -> None:
    old = await world.active()
    new = world.agent(old)
    async with old.gate.operation("prepare claim default/c1"), world.taking(new):
        assert old.state is State.DRAINING
        await old.handover.interrupt()
        assert (old.state, old.gate.mode, old.lock.held) == (State.DRAINING, Mode.CLOSED, True)
        await world.clock.advance(ASK_AGAIN)
        assert (new.lock.held, new.state) == (False, State.ASKING)
        assert "this agent ends" in new.handover.reason
    assert old.node.steps == ["open_ledger", "recover", "take_calls", "become_active"]
    await old.handover.stop()
    assert not old.lock.held


async def test_the_lock_falls_back_when_the_newcomer_dies_in_recovery(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    new.node.hangs = "recover"
    async with world.taking(new) as taking:
        old.node.steps.clear()
        taking.cancel()
        new.die()
        await world.clock.advance(1)
    assert (old.state, old.gate.mode, old.lock.held) == (State.ACTIVE, Mode.OPEN, True)
    assert old.node.steps == ["open_ledger", "recover", "take_calls", "become_active"]


async def test_the_lock_falls_back_when_the_newcomer_dies_later(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with world.taking(new) as taking:
        await taking
    await world.clock.advance(3600)
    assert old.state is State.PASSIVE
    new.die()
    await world.clock.advance(1)
    assert (old.state, old.lock.held) == (State.ACTIVE, True)


async def test_a_cut_line_alone_does_not_make_two_active_agents(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with world.taking(new) as taking:
        await taking
    new.asker.lines[0].close()
    await world.clock.advance(60)
    assert (old.state, old.node.ledger_open, old.gate.mode) == (State.PASSIVE, False, Mode.ELSEWHERE)
    assert (new.state, new.lock.held) == (State.ACTIVE, True)


@pytest.mark.parametrize("step", ["open_ledger", "recover", "take_calls", "become_active"])
async def test_a_newcomer_that_cannot_start_gives_everything_back_and_says_why(world: World, step: str) -> None:
    old = await world.active()
    new = world.agent(old)
    new.node.fails[step] = DragomanError("ledger has schema 2.0")
    with pytest.raises(DragomanError, match=r"schema 2\.0"):
        await new.handover.take()
    assert (new.state, new.lock.held, new.node.ledger_open, new.gate.mode) == (
        State.LOADING,
        False,
        False,
        Mode.CLOSED,
    )
    await world.clock.advance(1)
    assert (old.state, old.lock.held) == (State.ACTIVE, True)


async def test_a_holder_that_cannot_take_back_tries_again_and_leaves_the_lock_free_meanwhile(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with world.taking(new) as taking:
        await taking
    old.node.fails["open_ledger"] = DragomanError("ledger has schema 2.0")
    new.die()
    await world.clock.advance(1)
    assert (old.state, old.lock.held) == (State.PASSIVE, False)
    assert old.handover.reason == "recovery failed: ledger has schema 2.0"
    old.node.fails.clear()
    await world.clock.advance(ASK_AGAIN)
    assert (old.state, old.lock.held) == (State.ACTIVE, True)


async def test_operations_that_came_in_end_before_a_failed_start_closes_the_ledger(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with world.taking(new) as taking:
        await taking
    release = asyncio.Event()

    async def operate() -> bool:
        async with old.gate.operation("waits for whoever is active"):
            await release.wait()
            return old.node.ledger_open

    old.node.fails["become_active"] = DragomanError("the socket cannot be made")
    new.asker.lines[0].close()
    await world.clock.settle()
    old.gate.close()
    operation = asyncio.create_task(operate())
    new.die()
    await world.clock.advance(1)
    assert (old.state, old.lock.held) == (State.RECOVERING, True)
    release.set()
    assert await operation
    await world.clock.settle()
    assert (old.state, old.lock.held, old.node.ledger_open) == (State.PASSIVE, False, False)
    old.node.fails.clear()
    await world.clock.advance(ASK_AGAIN)
    assert old.state is State.ACTIVE


async def test_who_stops_waiting_leaves_the_holder_as_it_is(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    new.asker.answers = False
    async with world.taking(new) as taking:
        taking.cancel()
        await asyncio.wait({taking})
    assert (old.state, old.lock.held, new.lock.held) == (State.ACTIVE, True, False)


async def test_a_lock_that_cannot_be_used_when_it_is_taken_back_is_tried_again(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with world.taking(new) as taking:
        await taking
    lock = world.folder / "lock"
    lock.rename(world.folder / "aside")
    lock.mkdir()
    new.die()
    await world.clock.advance(10 * ASK_AGAIN)
    assert old.state is State.PASSIVE
    lock.rmdir()
    await world.clock.advance(ASK_AGAIN)
    assert (old.state, old.lock.held) == (State.ACTIVE, True)
