"""How long one waits for a counterpart and for credentials, and who is told when it takes long."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """``limit``: seconds for one answer, and for credentials. ``tell``: gets what is waited for after ``quiet``."""

    limit: float = 60.0
    quiet: float = 5.0
    tell: Callable[[str], None] = lambda _: None

    async def told(self, what: str, work: Awaitable[_T]) -> _T:
        """Wait for work that has its own limit, and tell of it. Raises what the work raises."""
        telling = asyncio.get_running_loop().call_later(self.quiet, self.tell, what)
        try:
            return await work
        finally:
            telling.cancel()

    async def bounded(self, what: str, work: Callable[[], _T]) -> _T:
        """Run work that starts programs in a thread of its own; past the limit, or when cancelled, these are ended.

        Raises ``TimeoutError``, or what the work raised.
        """
        future: Future[_T] = Future()
        future.set_running_or_notify_cancel()  # who gives up does not settle it
        thread = threading.Thread(target=_settle, args=(work, future), name="credentials", daemon=True)
        thread.start()
        try:
            async with asyncio.timeout(self.limit):
                return await self.told(what, asyncio.wrap_future(future))
        finally:
            # Whoever gives up, by Ctrl-C too, leaves no program behind that waits for ever.
            if not future.done() and thread.native_id is not None:
                _end(Path(f"/proc/self/task/{thread.native_id}/children"))


USUAL: Final = Patience()


def _settle(work: Callable[[], _T], future: Future[_T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - it is raised again where the result is waited for
        future.set_exception(error)


def _end(children: Path) -> None:
    """End the processes that a thread started, and theirs.

    All are stopped before the first is ended, until there is no new one: one that runs on may start another, which
    nobody would find once its parent is gone.
    """
    stopped, found = set[int](), set(_descendants(children))
    while found != stopped:
        _signal(found - stopped, signal.SIGSTOP)
        stopped, found = found, set(_descendants(children))
    _signal(found, signal.SIGKILL)


def _signal(processes: set[int], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, or become another user's
            os.kill(process, number)


def _descendants(children: Path) -> Iterator[int]:
    """Give the processes that a thread started, and theirs after each; none where /proc does not tell."""
    with contextlib.suppress(OSError):
        for process in map(int, children.read_text().split()):
            yield process
            for task in Path(f"/proc/{process}/task").iterdir():
                yield from _descendants(task / "children")
