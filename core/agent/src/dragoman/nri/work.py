"""Work that may outlast the call that asked for it: one piece after the other for each sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from dragoman.clock import Clock


async def within(clock: Clock, seconds: float, *futures: asyncio.Future[Any]) -> bool:
    """Wait at most that long; tell whether all are done. What is not done goes on."""
    timer = asyncio.ensure_future(clock.sleep(seconds))
    everything = asyncio.ensure_future(asyncio.wait(futures))
    try:
        await asyncio.wait({timer, everything}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
        everything.cancel()
        await asyncio.gather(timer, everything, return_exceptions=True)
    return all(future.done() for future in futures)


class Queues:
    """A queue for each key. A piece of work starts when the one before it has ended, whether or not anybody waits."""

    def __init__(self) -> None:
        self._last: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, key: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Queue the work and give its task. The work does not raise."""
        task = asyncio.ensure_future(_after(self._last.get(key), work))
        self._last[key] = task
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(key, done))
        return task

    def busy(self, key: str) -> bool:
        """Tell whether work of that key has not ended."""
        return key in self._last

    async def close(self, clock: Clock, seconds: float) -> None:
        """Let the work end, at most that long; then cancel it."""
        if self._tasks:
            await within(clock, seconds, *self._tasks)
        for task in (left := set(self._tasks)):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _ended(self, key: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._last.get(key) is task:
            del self._last[key]


async def _after(before: asyncio.Task[None] | None, work: Callable[[], Awaitable[None]]) -> None:
    if before is not None:
        await asyncio.wait({before})
    await work()
