"""Threads for the hooks of one plugin: calls with a time limit, one at a time for each device, that may never return.

A thread of Python cannot be stopped. A call past its limit is therefore *left behind*: its outcome is unknown, the
device that it is about takes no other call until it has returned, and its thread serves nobody else. All threads are
daemons, so that none of them keeps the process alive.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Hashable
from queue import SimpleQueue
from typing import Any, Protocol

from loguru import logger


class Runner(Protocol):
    """Runs one function after the other, somewhere."""

    async def run(self, call: Call) -> None:
        """Have the call executed; it holds the outcome. Raises ``StillRunning``, ``NeverBegan`` or ``TimedOut``."""

    def close(self) -> None:
        """End what waits for calls."""

    def left_behind(self) -> list[str]:
        """Name the calls whose limit has passed and that have not returned."""


class TimedOut(Exception):
    """The call passed its limit and is left behind."""


class NeverBegan(Exception):
    """The threads were busy with other calls for too long; this one will not run. ``args[0]`` names those."""


class StillRunning(Exception):
    """An earlier call for the same key was left behind and has not returned. ``args[0]`` names it."""


class Call:
    """One call on its way through a worker.

    ``limit`` in seconds from its begin, ``queue`` until then. ``key``: what must not be touched by two calls at once,
    or None. ``patient``: wait, within the limit, for a call of the same key that was left behind, rather than fail at
    once.
    """

    def __init__(
        self,
        function: Callable[[], Any],
        *,
        name: str,
        limit: float,
        queue: float,
        key: Hashable = None,
        patient: bool = False,
    ) -> None:
        self.name = name
        self.limit = limit
        self.queue = queue
        self.key = key
        self.patient = patient
        self.begun: float | None = None
        self.abandoned = False
        self.settled = asyncio.Event()
        """Nobody waits for it any more: it has returned or was left behind."""
        self.finished = asyncio.Event()
        self.error: BaseException | None = None
        self.result: Any = None
        # Whoever takes it decides: the thread that the call runs, the waiter that it never will.
        self._fate = threading.Lock()
        # Carries the id of the request into the log records of the plugin.
        self._context = contextvars.copy_context()
        self._function: Callable[[], Any] | None = function

    def decide(self) -> bool:
        """Take the decision whether the call runs; False if it was taken."""
        return self._fate.acquire(blocking=False)

    def execute(self) -> None:
        """Run in this thread and keep the outcome."""
        self.begun = time.monotonic()
        assert self._function is not None
        try:
            self.result = self._context.run(self._function)
        except BaseException as error:  # noqa: BLE001  # a plugin may even raise SystemExit
            self.error = error

    def drop(self) -> None:
        """Let go of the request: a call that will never run may stay in the queue of a hanging thread for long."""
        self._function = None

    def take_error(self) -> BaseException | None:
        """Give what the function raised, and forget it: error, frames and call would keep each other alive."""
        error, self.error = self.error, None
        return error


_Queue = SimpleQueue[tuple[asyncio.AbstractEventLoop, Call] | None]


class Worker:
    """Some daemon threads, made when they are first needed, and the calls that they run."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self._name = name
        self._size = threads
        self._queue: _Queue = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._executing: set[Call] = set()
        self._by_key: dict[Hashable, Call] = {}

    async def run(self, call: Call) -> None:
        """Run the call in a thread. Cancelling the waiter leaves a call behind that has begun."""
        await self._wait_for_turn(call)
        self._submit(call)
        try:
            await self._wait(call)
        except asyncio.CancelledError:
            self._abandon(call)
            raise

    def close(self) -> None:
        """End the threads as they get idle; one that hangs is left to its fate. A later call makes new ones."""
        for _ in self._threads:
            self._queue.put(None)
        self._threads, self._queue = [], SimpleQueue()

    def left_behind(self) -> list[str]:
        """Name the calls whose limit has passed and that have not returned."""
        return sorted(call.name for call in self._by_key.values() if call.abandoned)

    def _busy_with(self) -> str:
        return ", ".join(sorted(call.name for call in list(self._executing))) or "nothing"

    async def _wait_for_turn(self, call: Call) -> None:
        deadline = time.monotonic() + (call.limit if call.patient else call.queue)
        while call.key is not None and (earlier := self._by_key.get(call.key)) is not None:
            if earlier.abandoned and not call.patient:
                raise StillRunning(earlier.name)
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await (earlier.finished if call.patient else earlier.settled).wait()
            except TimeoutError:
                raise StillRunning(earlier.name) from None

    def _submit(self, call: Call) -> None:
        if call.key is not None:
            self._by_key[call.key] = call
        self._queue.put((asyncio.get_running_loop(), call))
        if len(self._threads) < self._size:
            thread = threading.Thread(
                target=self._serve, args=(self._queue,), name=f"{self._name}-{len(self._threads)}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    async def _wait(self, call: Call) -> None:
        queued = time.monotonic()
        while not call.finished.is_set():
            now = time.monotonic()
            if call.begun is not None:
                left = call.begun + call.limit - now
            else:
                # Looks again after its own limit at the latest: it may have begun in the meantime.
                left = min(queued + call.queue - now, call.limit)
            if left <= 0 and self._abandon(call):
                raise TimedOut
            if left <= 0:
                raise NeverBegan(self._busy_with())
            try:
                async with asyncio.timeout(left):
                    await call.finished.wait()
            except TimeoutError:
                continue

    def _abandon(self, call: Call) -> bool:
        """Stop waiting; tells whether the call had begun, so that its outcome is unknown."""
        if call.decide():
            call.drop()
            self._finish(call)
            return False
        call.abandoned = not call.finished.is_set()
        call.settled.set()
        return True

    def _finish(self, call: Call) -> None:
        if self._by_key.get(call.key) is call:
            del self._by_key[call.key]
        call.settled.set()
        call.finished.set()
        if call.abandoned:
            took = time.monotonic() - (call.begun or 0)
            how = "and raised an error" if call.error else "and its result is dropped"
            logger.warning(f"{call.name} returned after {took:.3f} s, {how}")
            call.error = None

    def _serve(self, queue: _Queue) -> None:
        while (item := queue.get()) is not None:
            loop, call = item
            if call.decide():
                self._executing.add(call)
                call.execute()
                self._executing.discard(call)
                _tell(loop, self._finish, call)
            del item, loop, call


class Inline:
    """Runs calls in the caller, without limits: for tests of the engine in virtual time."""

    async def run(self, call: Call) -> None:
        """Run the call here and now."""
        call.execute()
        if isinstance(call.error, KeyboardInterrupt):
            raise call.error

    def close(self) -> None:
        """Do nothing."""

    def left_behind(self) -> list[str]:
        """Give none: without limits nothing is left behind."""
        return []


def _tell(loop: asyncio.AbstractEventLoop, function: Callable[[Call], None], call: Call) -> None:
    try:
        loop.call_soon_threadsafe(function, call)
    except RuntimeError:
        # The loop has ended, and with it everybody who waited.
        call.error = None
