"""A few threads for blocking calls that never keep the process alive.

``concurrent.futures`` joins its threads at exit, so one pending call would hold the agent for its whole time-out.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "Future[Any]"]


class DaemonThreads:
    """At most ``size`` daemon threads, started as needed."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in a thread and give its result. A cancelled wait leaves a running call to its end."""
        future: Future[T] = Future()
        self._jobs.put((call, future))
        if not self._idle.acquire(blocking=False) and self._started < self._size:
            self._started += 1
            threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let the threads end after what they do now."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, future = job
            if future.set_running_or_notify_cancel():
                _settle(call, future)
            # Without this the last claim or slice would stay in memory while the thread is idle.
            del job, call, future
            self._idle.release()


def _settle(call: Callable[[], Any], future: Future[Any]) -> None:
    with contextlib.suppress(CancelledError):
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)
