"""Virtual time for tests of the engine: nothing waits, and every waiter wakes in the order of its deadline."""

from __future__ import annotations

import asyncio
import heapq
import itertools

_SPINS = 64
"""Turns of the event loop that are given to callbacks in one instant: more than any chain of awaits is deep."""


class VirtualClock:
    """Satisfies the engine's ``Clock``. Time stands still until ``advance``.

    >>> clock = VirtualClock()
    >>> task = asyncio.create_task(retry(clock))  # doctest: +SKIP
    >>> await clock.advance(30)  # doctest: +SKIP
    """

    def __init__(self, epoch: float = 1_700_000_000.0) -> None:
        self._epoch = epoch
        self._time = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Give seconds since the epoch."""
        return self._epoch + self._time

    def monotonic(self) -> float:
        """Give the seconds that were advanced so far."""
        return self._time

    async def sleep(self, seconds: float) -> None:
        """Wait until ``advance`` has passed that moment; zero or less only yields."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._time + seconds, next(self._order), future))
        await future

    async def settle(self) -> None:
        """Let everything run that can run at this instant."""
        for _ in range(_SPINS):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Pass time: wake each due sleeper at its own instant and let it run before the next.

        A sleeper that goes to sleep again within the span is woken again within it.
        """
        end = self._time + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self._time, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
                await self.settle()
        self._time = end

    def pending(self) -> int:
        """Count those who sleep now."""
        return sum(not future.done() for _, _, future in self._sleepers)
