"""Programs started inside the namespaces of a process, as children of this one, with the ids that this one sees."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman_kit import netns
from tests.cluster.tools import Failed, environment

_NEWPID = 0x20000000
_libc = ctypes.CDLL(None, use_errno=True)


class Spaces:
    """The namespaces of the process ``pid``: a node's first process, or one of a container."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def path(self, path: str | Path) -> Path:
        """Give the path under which this process finds a path of the other side; links in it are followed there."""
        return Path(f"/proc/{self.pid}/root/{str(path).lstrip('/')}")

    def start(self, command: Sequence[str | Path], *, at: Path = Path("/"), **options: Any) -> subprocess.Popen[bytes]:
        """Start a program in folder ``at``; ``options`` are those of ``subprocess.Popen``."""
        enter = [f"--{kind}=/proc/{self.pid}/ns/{file}" for kind, file in _ENTERED.items()] + [f"--wd={at}"]
        with self._children_inside():
            return subprocess.Popen(["nsenter", *enter, "--", *command], **options)

    def run(
        self,
        *command: str | Path,
        stdin: str = "",
        limit: float = 120.0,
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> str:
        """Run a program and give its output. Raises ``Failed`` where it fails or is not done in time.

        ``env``: variables beside those of this process. Not ``check``: what it says when it fails counts as its output.
        """
        pipe = subprocess.PIPE
        with self.start(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(**(env or {}))) as process:
            try:
                out, err = process.communicate(stdin.encode(), limit)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise Failed(f"{' '.join(map(str, command))}: not done within {limit:g} s") from error
        if process.returncode and check:
            said = err.decode().strip() or out.decode().strip()
            raise Failed(f"{' '.join(map(str, command))}: exit code {process.returncode}: {said}")
        return out.decode() + ("" if check else err.decode())

    @contextlib.contextmanager
    def network(self) -> Iterator[None]:
        """Be in the network namespace, in this thread: sockets made here belong there for ever."""
        with netns.opened(f"/proc/{self.pid}/ns/net") as handle, netns.entered(handle):
            yield

    @contextlib.contextmanager
    def _children_inside(self) -> Iterator[None]:
        """Have this thread's new processes begin in the PID namespace."""
        _enter_pids(f"/proc/{self.pid}/ns/pid")
        try:
            yield
        finally:
            _enter_pids("/proc/self/ns/pid")


_ENTERED = {"mount": "mnt", "net": "net", "ipc": "ipc", "uts": "uts", "cgroup": "cgroup"}


def _enter_pids(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        if _libc.setns(handle, _NEWPID):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    finally:
        os.close(handle)
