"""Two agents, one lock: real flock, virtual time, and a line between them that a test can cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dragoman.engine.gate import Gate, Mode
from dragoman.engine.handover import (
    ASK_AGAIN,
    DRAIN_WITHIN,
    LOCK_WITHIN,
    TRANSITIONS,
    Course,
    Handover,
    HandoverRefused,
    State,
)
from dragoman.model.errors import Refused, Unavailable
from dragoman.model.states import IllegalTransition
from dragoman.store.lock import NodeLock
from dragoman_hookspecs import DragomanError
from dragoman_testkit.fakes.clock import VirtualClock


@dataclass
class Node:
    """Notes the steps; one of them may fail or hang."""

    gate: Gate
    lock: NodeLock
    steps: list[str] = field(default_factory=list)
    fails: dict[str, Exception] = field(default_factory=dict)
    hangs: str = ""
    ledger_open: bool = False

    async def open_ledger(self) -> None:
        assert self.lock.held
        await self._step("open_ledger")
        self.ledger_open = True

    async def recover(self) -> None:
        assert self.ledger_open
        assert self.gate.mode is Mode.CLOSED
        async with self.gate.operation("of recovery"):
            await self._step("recover")

    async def become_active(self) -> None:
        assert self.ledger_open
        assert self.gate.mode is Mode.OPEN
        await asyncio.sleep(0)  # lets those in who wait at the gate
        await self._step("become_active")

    async def catch_up(self) -> None:
        assert self.gate.mode is Mode.OPEN
        await self._step("catch_up")

    async def become_passive(self) -> None:
        await self._step("become_passive")

    async def close_ledger(self) -> None:
        assert self.lock.held or not self.ledger_open
        self.ledger_open = False
        await self._step("close_ledger")

    async def _step(self, name: str) -> None:
        self.steps.append(name)
        if self.hangs == name:
            await asyncio.Event().wait()
        if name in self.fails:
            raise self.fails[name]


class Line:
    """Both ends of the connection between a newcomer and the holder."""

    def __init__(self, holder: Handover, *, broken: bool = False) -> None:
        self._holder = holder
        self._cut = asyncio.Event()
        self._broken = broken

    @property
    def lost(self) -> bool:
        return self._cut.is_set()

    async def wait_lost(self) -> None:
        await self._cut.wait()

    async def serving(self) -> None:
        if self._broken:
            raise Unavailable("the line is broken")
        await self._holder.newcomer_serves(self)

    def close(self) -> None:
        self._cut.set()


@dataclass
class Asker:
    """Reaches the agent that it is pointed to; ``answers`` False is a frozen one."""

    holder: Handover | None = None
    answers: bool = True
    line_breaks: bool = False
    thief: NodeLock | None = None
    asked: int = 0
    lines: list[Line] = field(default_factory=list)

    async def ask(self) -> Line:
        self.asked += 1
        if self.holder is None or not self.answers:
            raise Unavailable("the agent at /run/dragoman/control.sock did not answer within 60 s")
        line = Line(self.holder, broken=self.line_breaks)
        self.lines.append(line)
        try:
            await self.holder.hand_over(line, "process 7 of release 0.2.0")
        except HandoverRefused as error:
            raise Refused(str(error)) from error
        if self.thief is not None and self.asked == 1:
            assert self.thief.try_acquire()
        return line


class Agent:
    """One agent with everything that it has."""

    def __init__(self, folder: Path, clock: VirtualClock, holder: Agent | None = None) -> None:
        self.gate = Gate()
        self.lock = NodeLock(folder, clock)
        self.node = Node(self.gate, self.lock)
        self.asker = Asker(holder.handover if holder else None)
        self.handover: Handover = Handover(
            node=self.node, gate=self.gate, lock=self.lock, asker=self.asker, clock=clock
        )

    @property
    def state(self) -> State:
        return self.handover.state

    def die(self) -> None:
        """Do what the kernel does at the end of a process."""
        self.lock.release()
        for line in self.asker.lines:
            line.close()


@dataclass
class World:
    """A state folder, a time, and agents that are stopped at the end."""

    folder: Path
    clock: VirtualClock
    agents: list[Agent] = field(default_factory=list)

    def agent(self, holder: Agent | None = None) -> Agent:
        self.agents.append(Agent(self.folder, self.clock, holder))
        return self.agents[-1]

    async def active(self) -> Agent:
        agent = self.agent()
        await agent.handover.take()
        return agent

    @asynccontextmanager
    async def taking(self, agent: Agent) -> AsyncIterator[asyncio.Task[None]]:
        """Let an agent take over beside what the block does."""
        task = asyncio.create_task(agent.handover.take())
        await self.clock.settle()
        yield task
        if task.cancel():
            await asyncio.wait({task})


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path, VirtualClock())
    yield world
    for agent in world.agents:
        agent.node.hangs = ""
        await agent.handover.stop()


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
    assert agent.node.steps == ["open_ledger", "recover", "become_active"]
    assert (agent.lock.held, agent.gate.mode, agent.asker.asked) == (True, Mode.OPEN, 0)


async def test_the_holder_gives_up_everything_before_the_newcomer_opens_the_ledger(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    steps: list[str] = []
    old.node.steps = new.node.steps = steps  # one list shows the order of both
    async with world.taking(new) as taking:
        await world.clock.advance(1)
        await taking
    assert steps == ["become_passive", "close_ledger", "open_ledger", "recover", "become_active"]
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


async def test_an_operation_that_does_not_end_keeps_the_holder_active_and_the_newcomer_knows_why(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    async with old.gate.operation("prepare claim default/c1"), world.taking(new):
        await world.clock.advance(DRAIN_WITHIN)
        assert (old.state, old.gate.mode, new.state) == (State.ACTIVE, Mode.OPEN, State.ASKING)
        assert "not ended within 20 s: prepare claim default/c1" in new.handover.reason
    # What the runtime told meanwhile met a closed gate.
    assert old.node.steps == ["open_ledger", "recover", "become_active", "catch_up"]


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
    assert old.node.steps[-3:] == ["become_passive", "recover", "become_active"]
    old.node.fails.clear()


async def test_a_newcomer_that_dies_while_the_holder_drains_changes_nothing(world: World) -> None:
    old = await world.active()
    line = Line(old.handover)
    line.close()
    with pytest.raises(HandoverRefused, match="process 9 is gone"):
        await old.handover.hand_over(line, "process 9")
    assert (old.state, old.gate.mode, old.lock.held) == (State.ACTIVE, Mode.OPEN, True)
    assert old.node.steps[-2:] == ["recover", "become_active"]


@pytest.mark.parametrize("step", ["recover", "become_active"])
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
    assert old.node.steps == ["open_ledger", "recover", "become_active"]
    await old.handover.stop()
    assert not old.lock.held


async def test_a_holder_that_hands_over_refuses_a_second_newcomer(world: World) -> None:
    old = await world.active()
    first, second = world.agent(old), world.agent(old)
    first.node.hangs = "recover"
    async with world.taking(first), world.taking(second):
        assert second.state is State.ASKING
        assert "this agent is passive (process 7 of release 0.2.0 is taking over)" in second.handover.reason


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
    assert old.node.steps == ["open_ledger", "recover", "become_active"]


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


@pytest.mark.parametrize("step", ["open_ledger", "recover", "become_active"])
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


async def test_who_stops_waiting_leaves_the_holder_as_it_is(world: World) -> None:
    old = await world.active()
    new = world.agent(old)
    new.asker.answers = False
    async with world.taking(new) as taking:
        taking.cancel()
        await asyncio.wait({taking})
    assert (old.state, old.lock.held, new.lock.held) == (State.ACTIVE, True, False)


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
