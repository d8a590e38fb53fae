"""The gate of the active agent: operations pass while it is open, wait while it is closed, and are refused elsewhere.

Everything that uses the ledger or changes a device runs as an operation, so that an agent that hands over knows when
the last one has ended.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dragoman.clock import Clock
from dragoman.engine.waiting import Changes
from dragoman.model.errors import Unavailable
from dragoman_hookspecs import DragomanError


class NotActive(Unavailable):
    """Another agent is the active one of this node."""


class StillRunning(DragomanError):
    """Operations did not end in time. Names them."""


class Mode(enum.Enum):
    """What becomes of an operation that comes to the gate."""

    CLOSED = "closed"
    """It waits: who the active agent will be is not settled."""
    OPEN = "open"
    """It passes: this agent is the active one."""
    ELSEWHERE = "elsewhere"
    """It is refused with ``NotActive``: another agent does it."""


@dataclass(eq=False, slots=True)
class _Ticket:
    gate: Gate
    name: str


_TICKET: ContextVar[_Ticket | None] = ContextVar("dragoman_gate_ticket", default=None)


class Gate:
    """Closed at first. Used from one event loop."""

    def __init__(self) -> None:
        self._mode = Mode.CLOSED
        self._settled = asyncio.Event()
        self._running: set[_Ticket] = set()
        self._ended = Changes()

    @property
    def mode(self) -> Mode:
        """What the gate does with operations now."""
        return self._mode

    def open(self) -> None:
        """Let operations pass."""
        self._set(Mode.OPEN)

    def close(self) -> None:
        """Let new operations wait; those that run go on."""
        self._set(Mode.CLOSED)

    def elsewhere(self) -> None:
        """Refuse operations, also those that wait."""
        self._set(Mode.ELSEWHERE)

    def _set(self, mode: Mode) -> None:
        self._mode = mode
        if mode is Mode.CLOSED:
            self._settled.clear()
        else:
            self._settled.set()

    async def settled(self) -> Mode:
        """Wait until the gate is not closed, and give its mode. The caller brings the limit of time."""
        while self._mode is Mode.CLOSED:
            await self._settled.wait()
        return self._mode

    @asynccontextmanager
    async def operation(self, name: str) -> AsyncIterator[None]:
        """Run the block as an operation; ``name`` is shown while it keeps a handover waiting.

        Waits while the gate is closed; the caller brings the limit of time. An operation within an operation, also of
        a task that it started, passes: it is part of what a handover waits for. Raises ``NotActive``.
        """
        if not self._is_within() and await self.settled() is Mode.ELSEWHERE:
            raise NotActive(f"{name}: another agent is the active one of this node")
        async with self.exclusive(name):
            yield

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[None]:
        """Run the block and its operations whatever the mode is: recovery, before the gate is opened."""
        ticket = _Ticket(self, name)
        self._running.add(ticket)
        token = _TICKET.set(ticket)
        try:
            yield
        finally:
            _TICKET.reset(token)
            self._running.discard(ticket)
            self._ended.notify()

    def _is_within(self) -> bool:
        # A task outlives the operation that started it; the ticket that it inherited is then no longer valid.
        return _TICKET.get() in self._running

    async def drain(self, clock: Clock, seconds: float) -> None:
        """Wait until no operation runs. Raises ``StillRunning`` after so many seconds."""
        end = clock.monotonic() + seconds
        while self._running:
            left = end - clock.monotonic()
            if left <= 0 or not await self._ended.wait(clock, left):
                names = ", ".join(sorted(ticket.name for ticket in self._running))
                raise StillRunning(f"operations have not ended within {seconds:g} s: {names}")
