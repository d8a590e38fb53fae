"""Work that goes on beside the rest for as long as it is wanted, and begins again where it fails unexpectedly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from loguru import logger

from dragoman.clock import Clock

FIRST_PAUSE, LAST_PAUSE = 1.0, 60.0
"""Seconds before work that failed begins again: doubled from the first to the last; what held longer begins anew."""

Work = Callable[[], Coroutine[Any, Any, None]]


async def unless(stopped: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do work, and give False where ``stopped`` was set before its end: it is cancelled then. Raises what it raises."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        return working.done()
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


class Background:
    """Tasks that end by themselves or with ``end``. Used from one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, *works: Work) -> None:
        """Start each. A fault of the program is logged, and the work begins again: a node without it is not served."""
        for work in works:
            task = asyncio.create_task(self._keep(work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """Cancel all and wait for their ends."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, work: Work) -> None:
        pause = FIRST_PAUSE
        while True:
            began = self._clock.monotonic()
            try:
                return await work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the work has to go on
                pause = FIRST_PAUSE if self._clock.monotonic() - began > LAST_PAUSE else pause
                about = logger.opt(exception=error)
                about.critical("background work of the agent failed and begins again in {:g} s: {}", pause, error)
            await self._clock.sleep(pause)
            pause = min(2 * pause, LAST_PAUSE)
