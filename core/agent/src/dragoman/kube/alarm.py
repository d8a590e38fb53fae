"""Something that is due at a moment; an earlier moment replaces a later one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dragoman.clock import Clock


class Alarm:
    """Calls ``act`` once when it is due. ``act`` must not raise."""

    def __init__(self, clock: Clock, act: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._act = act
        self._due: float | None = None
        self._sleeping: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def ring_in(self, seconds: float) -> None:
        """Be due in so many seconds, or earlier where it is set to earlier already."""
        due = self._clock.monotonic() + seconds
        if self._due is not None and self._due <= due:
            return
        if self._sleeping is not None:
            self._sleeping.cancel()
        self._due = due
        self._sleeping = task = asyncio.create_task(self._ring(seconds))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Forget it, and cancel what it does now."""
        for task in tuple(self._tasks):
            task.cancel()
        self._due = self._sleeping = None

    async def _ring(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._due = self._sleeping = None
        await self._act()
