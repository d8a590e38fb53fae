"""What the agent tells about its connection to the runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dragoman.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class NriState:
    """State of the connection.

    ``connected``: the runtime has registered and synchronized us, so that sandboxes are told. ``synchronized``: its
    running sandboxes were worked through since then. ``reason`` says in a sentence why not connected, and is empty
    otherwise. ``since``: seconds since the epoch of the last change of ``connected`` or ``reason``. The versions are
    those of the last runtime that was met; empty before, ``nri_version`` also for runtimes before NRI 0.12.
    """

    connected: bool = False
    synchronized: bool = False
    reason: str = "not started"
    since: float = 0.0
    runtime_name: str = ""
    runtime_version: str = ""
    nri_version: str = ""


class Board:
    """Holds the state and wakes those who wait for another."""

    def __init__(self, clock: Clock) -> None:
        self.state = NriState(since=clock.now())
        self._clock = clock
        self._changed = asyncio.Event()

    def update(self, **changes: Any) -> None:
        """Change fields of the state."""
        after = replace(self.state, **changes)
        if (after.connected, after.reason) != (self.state.connected, self.state.reason):
            after = replace(after, since=self._clock.now())
        if after != self.state:
            self.state = after
            self._changed.set()
            self._changed = asyncio.Event()

    async def wait_for(self, wanted: Callable[[NriState], bool]) -> NriState:
        """Wait until the state is as wanted, and give it. A state that lasts for no turn of the loop may be missed."""
        while not wanted(self.state):
            await self._changed.wait()
        return self.state
