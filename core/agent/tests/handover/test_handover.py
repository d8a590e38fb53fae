"""An agent takes over from another: who does what in which order, and who waits for whom."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engine.course import TRANSITIONS, Course, State
from dragoman.engine.gate import Mode
from dragoman.engine.handover import ASK_AGAIN, DRAIN_WITHIN, LOCK_WITHIN
from dragoman.model.states import IllegalTransition
from dragoman.store.lock import NodeLock

from .twoagents import World


@pytest.mark.parametrize("new", State)
@pytest.mark.parametrize("old", State)
def test_an_agent_goes_only_where_the_table_says(old: State, new: State) -> None:
    course = Course()
    course.state = old
    if new in TRANSITIONS[old]:
        course.go(new, "because")
        assert (course.state, course.reason) == (new, "because")
    else:
        with pytest.raises(IllegalTransition, match=f"from {old} to {new}"):
            course.go(new)


async def test_an_agent_that_is_alone_takes_the_lock_recovers_and_serves(world: World) -> None:
    agent = world.agent()
    assert (agent.state, agent.handover.reason) == (State.LOADING, "the agent is loading")
    await agent.handover.take()
    assert (agent.state, agent.handover.reason) == (State.ACTIVE, "")
    assert agent.node.steps == ["open_ledger", "recover", "take_calls", "become_active"]
    assert (agent.lock.held, agent.gate.mode, agent.asker.asked) == (True, Mode.OPEN, 0)


async def test_the_holder_gives_up_everything_before_the_newcomer_opens_the_ledger(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    steps: list[str] = []
    old.node.steps = new.node.steps = steps  # one list shows the order of both
    async with world.taking(new) as taking:
        await world.clock.advance(1)
        await taking
    assert steps == ["become_passive", "close_ledger", "open_ledger", "recover", "take_calls", "become_active"]
    assert (old.state, new.state) == (State.PASSIVE, State.ACTIVE)
    assert (old.lock.held, new.lock.held) == (False, True)
    assert (old.gate.mode, new.gate.mode) == (Mode.ELSEWHERE, Mode.OPEN)
    assert old.handover.reason == "another agent is the active one of this node"


async def test_calls_wait_at_the_holder_until_the_newcomer_serves(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    new.node.hangs = "recover"
    async with world.taking(new):
        assert (old.state, new.state) == (State.PASSIVE, State.RECOVERING)
        assert old.gate.mode is Mode.CLOSED
        assert old.handover.reason == "process 7 of release 0.2.0 is taking over"


async def test_the_holder_hands_calls_on_before_the_newcomer_has_met_the_runtime(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    new.node.hangs = "become_active"
    async with world.taking(new):
        assert (new.state, new.node.steps[-2:]) == (State.RECOVERING, ["take_calls", "become_active"])
        assert (old.gate.mode, new.gate.mode) == (Mode.ELSEWHERE, Mode.OPEN)


async def test_operations_that_run_end_before_the_lock_is_given_up(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    release = asyncio.Event()

    async def operate() -> None:
        async with old.gate.operation("prepare claim default/c1"):
            await release.wait()

    operation = asyncio.create_task(operate())
    async with world.taking(new) as taking:
        await world.clock.advance(DRAIN_WITHIN - 1)
        assert (old.state, old.node.ledger_open, new.lock.held) == (State.DRAINING, True, False)
        release.set()
        await world.clock.advance(1)
        await taking
    await operation
    assert (old.state, new.state) == (State.PASSIVE, State.ACTIVE)


async def test_a_newcomer_asks_again_and_gets_the_lock_once_the_operation_has_ended(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    release = asyncio.Event()

    async def operate() -> None:
        async with old.gate.operation("slow"):
            await release.wait()

    operation = asyncio.create_task(operate())
    async with world.taking(new) as taking:
        await world.clock.advance(DRAIN_WITHIN + ASK_AGAIN / 2)
        assert (old.state, new.state) == (State.ACTIVE, State.ASKING)
        release.set()
        await operation
        await world.clock.advance(ASK_AGAIN)
        await taking
    assert (old.state, new.state, new.asker.asked) == (State.PASSIVE, State.ACTIVE, 2)


async def test_a_holder_that_hands_over_refuses_a_second_newcomer(world: World) -> None:
    old = await world.active()
    first, second = world.agent(old), world.agent(old)
    first.node.hangs = "recover"
    async with world.taking(first), world.taking(second):
        assert second.state is State.ASKING
        assert "this agent is passive (process 7 of release 0.2.0 is taking over)" in second.handover.reason


async def test_an_agent_that_took_back_can_hand_over_again(world: World) -> None:
    old = await world.active()
    for _ in range(3):
        new = world.agent(old)
        async with world.taking(new) as taking:
            await taking
        assert (old.state, new.state) == (State.PASSIVE, State.ACTIVE)
        new.die()
        await world.clock.advance(1)
        assert old.state is State.ACTIVE


async def test_a_frozen_holder_is_waited_for_with_a_reason_until_the_kernel_frees_the_lock(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    new.asker.answers = False
    async with world.taking(new) as taking:
        await world.clock.advance(600)
        assert (new.state, new.lock.held) == (State.ASKING, False)
        assert new.handover.reason.startswith("the lock of the node is held by process ")
        assert new.handover.reason.endswith("did not answer within 60 s")
        assert new.asker.asked == 600 / ASK_AGAIN + 1
        old.die()
        await world.clock.advance(ASK_AGAIN)
        await taking
    assert new.state is State.ACTIVE


async def test_a_lock_that_was_given_up_but_taken_by_another_is_asked_for_again(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    new.asker.thief = thief = NodeLock(world.folder, world.clock)
    async with world.taking(new) as taking:
        assert new.state is State.LOCKING
        await world.clock.advance(LOCK_WITHIN + 0.1)
        assert (new.state, new.asker.lines[0].lost) == (State.ASKING, True)
        thief.release()
        await world.clock.advance(2 * ASK_AGAIN)
        await taking
    assert (old.state, new.state) == (State.PASSIVE, State.ACTIVE)


async def test_a_newcomer_that_cannot_tell_the_holder_serves_all_the_same(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    new.asker.line_breaks = True
    async with world.taking(new) as taking:
        await taking
    assert (old.state, new.state, old.lock.held) == (State.PASSIVE, State.ACTIVE, False)


async def test_stop_closes_the_ledger_and_frees_the_lock(world: World) -> None:
    agent = await world.active()
    await agent.handover.stop()
    assert (agent.lock.held, agent.node.ledger_open, agent.gate.mode) == (False, False, Mode.CLOSED)


async def test_a_passive_agent_that_stops_takes_nothing_back(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with world.taking(new) as taking:
        await taking
    await old.handover.stop()
    new.die()
    await world.clock.advance(60)
    assert not old.lock.held
