"""Calls of plugins that have passed their limit: no other agent becomes active beside them."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from dragoman.engine.course import State
from dragoman.engine.gate import Mode
from dragoman.engine.handover import ASK_AGAIN
from dragoman_hookspecs import DragomanError

from .twoagents import HANGING, World


async def test_a_newcomer_waits_for_a_call_that_hangs_and_nothing_else_notices(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    old.node.left_behind = [HANGING]
    async with world.taking(new) as taking:
        await world.clock.advance(10 * ASK_AGAIN)
        assert (old.state, old.gate.mode, old.lock.held, new.state) == (State.ACTIVE, Mode.OPEN, True, State.ASKING)
        assert f"{HANGING} has not returned" in new.handover.reason
        assert old.node.steps == ["open_ledger", "recover", "take_calls", "become_active"]
        old.node.left_behind = []
        await world.clock.advance(ASK_AGAIN)
        await taking
    assert (old.state, new.state, new.lock.held) == (State.PASSIVE, State.ACTIVE, True)


async def test_a_call_that_an_operation_left_behind_while_it_ended_keeps_the_lock_here(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with AsyncExitStack() as newcomer:
        async with old.gate.operation("attach to pod default/a"):
            await newcomer.enter_async_context(world.taking(new))
            old.node.left_behind = [HANGING]
        await world.clock.settle()
        assert (old.state, old.gate.mode, old.lock.held, new.lock.held) == (State.ACTIVE, Mode.OPEN, True, False)
        assert old.node.steps[-1] == "catch_up"


async def test_a_call_that_background_work_left_behind_keeps_the_lock_here(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    old.node.leaves_at = "become_passive"
    async with world.taking(new):
        assert (old.state, old.gate.mode, old.lock.held, new.lock.held) == (State.ACTIVE, Mode.OPEN, True, False)
        assert old.node.steps[-4:] == ["become_passive", "recover", "take_calls", "become_active"]
        await world.clock.advance(10 * ASK_AGAIN)
        assert old.node.steps.count("become_passive") == 1


async def test_an_agent_that_stops_beside_such_a_call_leaves_the_lock_to_the_end_of_its_process(world: World) -> None:
    old = await world.active()
    new = world.agent()
    old.node.left_behind = [HANGING]
    await old.handover.stop()
    assert not old.node.ledger_open
    async with world.taking(new) as taking:
        await world.clock.advance(10 * ASK_AGAIN)
        assert new.state is State.ASKING
        old.die()
        await world.clock.advance(ASK_AGAIN)
        await taking


async def test_an_agent_that_cannot_go_on_beside_such_a_call_tries_again_with_the_lock(world: World) -> None:
    old = world.agent()
    old.node.fails["become_active"] = DragomanError("the socket cannot be made")
    old.node.leaves_at = "recover"
    with pytest.raises(DragomanError, match="socket"):
        await old.handover.take()
    assert (old.lock.held, old.node.ledger_open) == (True, False)
    old.node.fails.clear()
    await old.handover.take()
    assert old.state is State.ACTIVE
