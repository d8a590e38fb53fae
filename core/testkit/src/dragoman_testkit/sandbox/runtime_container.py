"""Containers of the stand-in: real processes in the pod's network namespace, with the edits of their CDI devices."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from dragoman_testkit.sandbox.cdi import Edits
from dragoman_testkit.sandbox.runtime_mounts import inside

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CreateContainerError(Exception):
    """The container could not be created; the kubelet tries again every few seconds and counts no restart."""


class RunContainerError(Exception):
    """The container could not be started; the kubelet counts a failed run."""


class FakeContainer:
    """A container. ``netns`` is the handle of its pod's namespace, None for the host's network.

    Mounts are taken when it starts and keep what they show: a file that is replaced later is still the old one inside,
    a folder shows the new file, and a namespace handle stays open until the container ends.
    """

    def __init__(self, container_id: str, name: str, argv: Sequence[str], edits: Edits, netns: Path | None) -> None:
        self.id = container_id
        self.name = name
        self.env = {"PATH": _PATH, **edits.env}
        self._argv = tuple(argv)
        self._mounts = edits.sorted_mounts()
        self._netns = netns
        self._held: dict[str, int] = {}
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the container
        self._process: asyncio.subprocess.Process | None = None

    @property
    def running(self) -> bool:
        """Tell whether its process runs."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """Give the id of its process while it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Take the mounts and run the process. Raises ``RunContainerError``."""
        try:
            for mount in self._mounts:
                self._held[mount.container_path] = os.open(mount.host_path, os.O_PATH | os.O_CLOEXEC)
        except OSError as error:
            self._release()
            text = f"failed to fulfil mount request: open {error.filename}: {(error.strerror or '').lower()}"
            raise RunContainerError(text) from error
        self._process = await self._spawn(self._argv, self._output.fileno())

    async def wait(self) -> int:
        """Wait until its process ends, and give the exit code."""
        assert self._process, "the container was not started"
        return await self._process.wait()

    def output(self) -> str:
        """Give what its process has written so far."""
        self._output.seek(0)
        return self._output.read().decode()

    async def exec(self, *argv: str) -> str:
        """Run a command beside its process and give what it wrote. Raises ``OSError`` if it fails."""
        process = await self._spawn(argv, asyncio.subprocess.PIPE)
        try:
            output, _ = await process.communicate()
        finally:
            await _kill(process)
        if process.returncode:
            raise OSError(f"{' '.join(argv)} ended with {process.returncode}: {output.decode()}")
        return output.decode()

    def resolve(self, path: str) -> Path:
        """Give the host path behind a path of its mounts. Raises ``FileNotFoundError`` for any other path."""
        for mount in reversed(self._mounts):
            if PurePosixPath(path).is_relative_to(mount.container_path) and mount.container_path in self._held:
                inner = PurePosixPath(path).relative_to(mount.container_path)
                return Path(f"/proc/self/fd/{self._held[mount.container_path]}") / inner
        raise FileNotFoundError(f"container {self.name} has no {path}")

    def read(self, path: str) -> bytes:
        """Read a file as the container sees it. Raises ``OSError``."""
        return self.resolve(path).read_bytes()

    async def stop(self) -> None:
        """Kill its process and let its mounts go; again is nothing."""
        if self._process:
            await _kill(self._process)
        self._release()
        self._output.close()

    def _release(self) -> None:
        while self._held:
            os.close(self._held.popitem()[1])

    async def _spawn(self, argv: Sequence[str], output: int) -> asyncio.subprocess.Process:
        enter = ("nsenter", f"--net={self._netns}", "--") if self._netns else ()
        return await asyncio.create_subprocess_exec(
            *enter,
            *inside(self._mounts, argv),
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
