"""The lock of the node: one active agent for one state folder.

It is a ``flock`` on a file that is never removed. The kernel releases it with the process, however that ends, so there
is no stale lock. What stands in the file is for people only.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
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
    """The lock in the file ``lock`` of the state folder. A forked child shares it and would keep it held."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._path = folder / "lock"
        self._clock = clock
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def try_acquire(self) -> bool:
        """Take the lock if nobody has it. Raises ``LedgerFault`` where the file cannot be used."""
        if self.held:
            return True
        try:
            files.make_folder(self._path.parent)
            files.make_private(self._path)
            self._descriptor = _locked(self._path)
            if self._descriptor is not None:
                self._sign(self._descriptor)
        except OSError as error:
            raise LedgerFault(f"the lock of the node {self._path} cannot be used: {error}") from error
        return self.held

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
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
        os.close(descriptor)

    def holder(self) -> Holder | None:
        """Read who has signed the lock last: a hint for messages, None where nobody has."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Holder)
        except (OSError, msgspec.MsgspecError, ValueError):
            return None

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
