"""Waiting for one another: locks by key, work that later callers join, and changes that wake."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Generic, TypeVar

from dragoman.clock import Clock

T = TypeVar("T")


class KeyedLocks:
    """A lock for each key; a key costs nothing while nobody holds it."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        """Hold the lock of one key."""
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[key]
            if users == 1:
                del self._locks[key]
            else:
                self._locks[key] = (lock, users - 1)

    @asynccontextmanager
    async def hold_all(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Hold the locks of several keys; taken in one order everywhere, so that two callers never block each other."""
        async with AsyncExitStack() as stack:
            for key in sorted(set(keys)):
                await stack.enter_async_context(self.hold(key))
            yield


class SharedLock:
    """Many are inside together, or one is alone. Who wants to be alone comes before those who ask later.

    Not to be taken again by who has it.
    """

    def __init__(self) -> None:
        self._inside = 0
        self._apart = 0
        self._alone = asyncio.Lock()
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Be inside with others."""
        while self._apart:
            await self._changed.wait()
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            self._tell()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be inside with nobody else."""
        self._apart += 1
        try:
            async with self._alone:
                while self._inside:
                    await self._changed.wait()
                yield
        finally:
            self._apart -= 1
            self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class SharedLocks:
    """A shared lock for each of a few keys that stay for good, and one above them all."""

    def __init__(self) -> None:
        self._all = SharedLock()
        self._locks: defaultdict[str, SharedLock] = defaultdict(SharedLock)

    @asynccontextmanager
    async def together(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Be inside with others, for all of these keys; taken in one order everywhere."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._all.together())
            for key in sorted(set(keys)):
                await stack.enter_async_context(self._locks[key].together())
            yield

    @asynccontextmanager
    async def alone(self, key: str) -> AsyncIterator[None]:
        """Be the only one inside for this key."""
        async with self._all.together(), self._locks[key].alone():
            yield

    @asynccontextmanager
    async def all_alone(self) -> AsyncIterator[None]:
        """Be the only one inside, whatever the key."""
        async with self._all.alone():
            yield


class Joined(Generic[T]):
    """Work by key: who asks again while it runs joins it. A caller that goes away does not stop it."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Give the result of the work under this key, started now unless it runs already."""
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(task)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._running

    async def drain(self) -> None:
        """Wait until nothing runs."""
        while self._running:
            await asyncio.wait(set(self._running.values()))


class Changes:
    """Wakes everyone who waits."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Wake those who wait now."""
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self, clock: Clock, seconds: float) -> bool:
        """Wait for the next ``notify``; give False where it did not come in time."""
        waiter = asyncio.ensure_future(self._event.wait())
        try:
            return await finished(clock, seconds, waiter)
        finally:
            waiter.cancel()


async def finished(clock: Clock, seconds: float, work: Awaitable[object]) -> bool:
    """Wait for work at most so long and tell whether it finished; it goes on in any case."""
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
    return task.done()
