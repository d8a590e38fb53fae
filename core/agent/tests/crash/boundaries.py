"""Places where a process may end, counted, and the one where it does.

Boundaries are: before and after each ledger commit, before and after each call of a hook, before each request that
changes something in the kernel, and before each change of a file (made, written, renamed, removed). Where nothing has
changed between two of them, a death at the second one is the same as at the first one.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dragoman.hooks import Hooks

DIED = 77
"""Exit code of a process that ended itself at its boundary."""

CALLS = frozenset(
    {
        "check_config",
        "plan_device",
        "setup_device",
        "attach_device",
        "detach_device",
        "free_device",
        "recover_devices",
        "device_metadata",
        "container_edits",
        "write_metadata",
        "remove_metadata",
    }
)
_FILES = frozenset({"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_GET = 2
"""rtnetlink(7): of the four requests of each kind the third one only reads."""


class Boundaries:
    """Counts from ``arm`` on. ``stop_at`` 0 ends nothing; ``holds`` names boundaries of hooks that are never passed.

    ``passed`` has the labels of all boundaries in order, ``different`` the numbers (from 1) of those where disk or
    kernel are not as they were at the one before.
    """

    def __init__(self, stop_at: int = 0, holds: frozenset[str] = frozenset()) -> None:
        self.passed: list[str] = []
        self.different: list[int] = []
        self.held: set[str] = set()
        self.all_held = asyncio.Event()
        self._stop_at = stop_at
        self._holds = holds
        self._numbers = itertools.count(1)
        self._armed = False
        self._changed = True

    def arm(self, folder: Path) -> None:
        """Count from now on, also the files in that folder."""
        self._folders = (str(folder), "/proc/sys/")
        self._armed = True
        sys.addaudithook(self._audit)

    def disarm(self) -> None:
        """Count no more."""
        self._armed = False

    def pass_(self, label: str, *, changes: bool) -> None:
        """Come to a boundary, in any thread; the process ends here if its number is the one.

        ``changes``: what follows changes disk or kernel.
        """
        if not self._armed:
            return
        self.passed.append(label)
        number = next(self._numbers)
        if number == self._stop_at:
            os._exit(DIED)
        if self._changed:
            self.different.append(number)
        self._changed = changes

    async def hold(self, label: str) -> None:
        """Come to a boundary of a hook; it is not passed if it is to be held."""
        if label in self._holds:
            self.held.add(label)
            if self.held == self._holds:
                self.all_held.set()
            await asyncio.Event().wait()
        self.pass_(f"hook {label}", changes=False)

    def commit(self, label: str) -> None:
        """Be the ledger's fault point."""
        self.pass_(f"commit {label}", changes=label.startswith("before"))

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "dragoman_kit.request" and arguments[0] % 4 != _GET:
            self.pass_(f"netlink {arguments[0]}", changes=True)
        elif event in _FILES and self._armed:
            path = str(arguments[0])
            if path.startswith(self._folders) and not _is_idle(event, path, arguments):
                self.pass_(f"file {event} {path}", changes=True)


class CountedHooks(Hooks):
    """The facade, with a boundary before and after each call."""

    boundaries: Boundaries

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return self._counted(name, found) if name in CALLS else found

    def _counted(self, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*arguments: Any, **options: Any) -> Any:
            what = f"{name} {_subject(arguments)}"
            await self.boundaries.hold(f"before {what}")
            result = await call(*arguments, **options)
            await self.boundaries.hold(f"after {what}")
            return result

        return counted


def _is_idle(event: str, path: str, arguments: tuple[Any, ...]) -> bool:
    """Tell whether the disk will be as before: a file is only read, a folder is there, a file to remove is not."""
    if event == "open":
        return not arguments[2] & _WRITES
    return Path(path).is_dir() if event == "os.mkdir" else not Path(path).exists()


def _subject(arguments: tuple[Any, ...]) -> str:
    for argument in arguments:
        allocation = getattr(argument, "allocation", argument)
        if device := getattr(allocation, "device", None):
            return str(device.name)
    return str(arguments[0])[:40]
