"""The lock of the node: one active agent for one state folder, and one for a driver.

It is a ``flock`` on a file that is never removed. The kernel releases it with the process, however that ends, so there
is no stale lock. What stands in the file is for people only.

The second file is where agents of the driver reach each other: who finds the state folder wiped, or has another one,
must ask the active agent all the same. It bears the driver's name, as agents of several drivers may meet there. The
first one keeps the ledger, and is all that agents of former releases know of.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from dragoman.clock import Clock
from dragoman.store import files
from dragoman.store.errors import LedgerFault

_POLL = 0.05
"""Seconds between two attempts: a holder that releases is followed at once, and a system call costs nothing."""


class Holder(msgspec.Struct, frozen=True):
    """Who wrote itself into the lock: its process id (in its own pid namespace) and since when (RFC 3339)."""

    pid: int
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} since {self.since}"


class NodeLock:
    """The lock in the file ``lock`` of the state folder, and in ``also``. A forked child would keep it held."""

    def __init__(self, folder: Path, clock: Clock, *, also: Path | None = None) -> None:
        self._folder = folder
        self._paths = (folder / "lock", *([] if also is None else [also]))
        self._clock = clock
        self._descriptors: list[int] = []

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return bool(self._descriptors)

    def try_acquire(self) -> bool:
        """Take the lock if nobody has it. Raises ``LedgerFault`` where a file of it cannot be used."""
        if self.held:
            return True
        taken: list[int] = []
        with ExitStack() as undo:
            for path in self._paths:
                descriptor = self._take(path)
                if descriptor is None:
                    return False
                undo.callback(os.close, descriptor)
                taken.append(descriptor)
            undo.pop_all()
        for descriptor in taken:
            self._sign(descriptor)
        self._descriptors = taken
        return True

    async def acquire(self, seconds: float | None = None) -> bool:
        """Wait for the lock, at most so many seconds (None: for ever), and tell whether it is held now."""
        end = None if seconds is None else self._clock.monotonic() + seconds
        while not self.try_acquire():
            if end is not None and self._clock.monotonic() >= end:
                return False
            await self._clock.sleep(_POLL)
        return True

    def release(self) -> None:
        """Give the lock back; without it, do nothing."""
        descriptors, self._descriptors = self._descriptors, []
        for descriptor in descriptors:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def holder(self) -> Holder | None:
        """Read who has signed the lock last: a hint for messages, None where nobody has."""
        for path in self._paths:
            with suppress(OSError, msgspec.MsgspecError, ValueError):
                return msgspec.json.decode(path.read_bytes(), type=Holder)
        return None

    def _take(self, path: Path) -> int | None:
        try:
            if path.parent == self._folder:
                files.make_folder(path.parent)
            else:
                # It may be a folder of the host that is others' too: its mode stays as it is.
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.make_private(path)
            return _locked(path)
        except OSError as error:
            hint = "; the agent has to run as root" if isinstance(error, PermissionError) else ""
            raise LedgerFault(f"the lock of the node {path} cannot be used: {error}{hint}") from error

    def _sign(self, descriptor: int) -> None:
        since = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="seconds")
        # A full disk must not keep the lock from being had: the name is a hint.
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, msgspec.json.encode(Holder(os.getpid(), since)) + b"\n", 0)


def _locked(path: Path) -> int | None:
    """Open and lock the file; None where another has it, or where the file was replaced meanwhile."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
