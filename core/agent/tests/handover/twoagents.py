"""Two agents, one lock: real flock, virtual time, and a line between them that a test can cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.engine.course import State
from dragoman.engine.gate import Gate, Mode
from dragoman.engine.handover import Handover, HandoverRefused
from dragoman.model.errors import Refused, Unavailable
from dragoman.store.lock import NodeLock
from dragoman_testkit.fakes.clock import VirtualClock

HANGING = "attach_device for device eth1 of claim default/a (uid-a)"
"""A call of a plugin that passed its limit."""


@dataclass
class Node:
    """Notes the steps; one of them may fail, hang, or leave a call of a plugin behind."""

    gate: Gate
    lock: NodeLock
    steps: list[str] = field(default_factory=list)
    fails: dict[str, Exception] = field(default_factory=dict)
    hangs: str = ""
    ledger_open: bool = False
    leaves_at: str = ""
    left_behind: list[str] = field(default_factory=list)

    async def open_ledger(self) -> None:
        assert self.lock.held
        await self._step("open_ledger")
        self.ledger_open = True

    async def recover(self) -> None:
        assert self.ledger_open
        assert self.gate.mode is Mode.CLOSED
        async with self.gate.operation("of recovery"):
            await self._step("recover")

    async def take_calls(self) -> None:
        assert self.gate.mode is Mode.OPEN
        await self._step("take_calls")

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
        if self.leaves_at == name:
            self.left_behind.append(HANGING)
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
            node=self.node,
            gate=self.gate,
            lock=self.lock,
            asker=self.asker,
            clock=clock,
            unfinished=lambda: self.node.left_behind,
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
