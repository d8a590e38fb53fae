"""Calls of the kubelet that run to their end, whatever becomes of the RPC that brought them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import TypeVar

from loguru import logger

from dragoman.clock import Clock

Answer = TypeVar("Answer")


class Calls:
    """Runs calls, each with a request id in the log context.

    The kubelet gives up after 45 s and sends the same call again much later. Work that is cut off half way would
    only have to be undone, so it goes on, and the repetition finds it done.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        self._running: set[asyncio.Task[object]] = set()

    async def run(self, what: str, about: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Run the work in a task of its own and wait for it; ``what`` and ``about`` are for the log."""
        task = asyncio.create_task(self._traced(f"{what}-{next(self._numbers)}", about, work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def drain(self, seconds: float) -> int:
        """Wait for the running calls, at most so long; give the number of those that still run."""
        running = tuple(self._running)
        if not running:
            return 0
        _, pending = await asyncio.wait(running, timeout=seconds)
        return len(pending)

    async def _traced(self, request: str, about: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        with logger.contextualize(request=request):
            begin = self._clock.monotonic()
            logger.info("call {} begins: {}", request, about)
            try:
                return await work()
            finally:
                logger.info("call {} ends after {:.3f} s", request, self._clock.monotonic() - begin)
