"""The plugin manager: sockets in ``plugins_registry`` are registered, and forgotten when they go."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from dragoman.clock import Clock
from dragoman.kubelet._proto import registration_pb2
from dragoman.kubelet.rpc import call
from dragoman_testkit.sandbox.kubelet.connection import registration_channel
from dragoman_testkit.sandbox.kubelet.drivers import Drivers, Instance, InvalidPlugin
from dragoman_testkit.sandbox.kubelet.pods import Timings

Stamp = tuple[int, int]


@dataclass(slots=True)
class Backoff:
    """Per path, doubling. It is ended by a success only, not by a new socket at the path."""

    first: float
    longest: float
    pause: float = 0.0
    due: float = 0.0

    def failed(self, now: float) -> None:
        """Note a failure at ``now``."""
        self.pause = min(2 * self.pause, self.longest) if self.pause else self.first
        self.due = now + self.pause


@dataclass(slots=True)
class Known:
    """What is known of a path: the socket file that is registered, and the last error."""

    backoff: Backoff
    stamp: Stamp | None = None
    instance: Instance | None = None
    error: str = ""
    task: asyncio.Task[None] | None = field(default=None)


class Plugins:
    """Compares the folder with what is registered, once in each interval. ``errors`` tells why a path is not."""

    def __init__(self, folder: Path, drivers: Drivers, clock: Clock, timings: Timings) -> None:
        self._folder = folder
        self._drivers = drivers
        self._clock = clock
        self._timings = timings
        self._known: dict[Path, Known] = {}

    @property
    def errors(self) -> dict[Path, str]:
        """The last error of each path that has one."""
        return {path: known.error for path, known in self._known.items() if known.error}

    async def run(self) -> None:
        """Reconcile until cancelled. A socket that hangs does not hold up the others."""
        try:
            while True:
                self._reconcile(dict(self._sockets()))
                await self._clock.sleep(self._timings.reconcile)
        finally:
            tasks = [known.task for known in self._known.values() if known.task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _sockets(self) -> Iterator[tuple[Path, Stamp]]:
        self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        for path in sorted(self._folder.rglob("*")):
            if any(part.startswith(".") for part in path.relative_to(self._folder).parts):
                continue
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue
            if stat.S_ISSOCK(status.st_mode):
                yield path, (status.st_ino, status.st_ctime_ns)

    def _reconcile(self, sockets: dict[Path, Stamp]) -> None:
        for path in {*self._known, *sockets}:
            known = self._known.setdefault(
                path, Known(Backoff(self._timings.first_backoff, self._timings.longest_backoff))
            )
            if known.task and not known.task.done():
                continue
            if known.instance and known.stamp != sockets.get(path):
                known.task = asyncio.create_task(self._deregister(known))
            elif not known.instance and path in sockets and self._clock.monotonic() >= known.backoff.due:
                known.task = asyncio.create_task(self._register(path, sockets[path], known))

    async def _deregister(self, known: Known) -> None:
        instance, known.instance = known.instance, None
        if instance:
            await self._drivers.remove(instance)

    async def _register(self, path: Path, stamp: Stamp, known: Known) -> None:
        try:
            async with registration_channel(path) as channel:
                await asyncio.wait_for(channel.channel_ready(), self._timings.dial)
                known.instance = await self._introduce(channel, path)
        except (TimeoutError, grpc.aio.AioRpcError, InvalidPlugin) as error:
            known.error = f"{type(error).__name__}: {error}"
            known.backoff.failed(self._clock.monotonic())
        else:
            known.stamp = stamp
            known.error = ""
            known.backoff = Backoff(self._timings.first_backoff, self._timings.longest_backoff)

    async def _introduce(self, channel: grpc.aio.Channel, path: Path) -> Instance:
        get_info = call(channel, registration_pb2.DESCRIPTOR, "Registration.GetInfo")
        info = await get_info(registration_pb2.InfoRequest(), timeout=self._timings.get_info)
        try:
            instance = self._add(info, path)
        except InvalidPlugin as error:
            await self._notify(channel, registered=False, error=str(error))
            raise
        try:
            await self._notify(channel, registered=True)
        except BaseException:
            await self._drivers.remove(instance)
            raise
        return instance

    def _add(self, info: Any, path: Path) -> Instance:
        if info.type != "DRAPlugin":
            raise InvalidPlugin(f"no handler for plugin type {info.type!r} at {path}")
        return self._drivers.add(info.name, Path(info.endpoint or path), info.supported_versions)

    async def _notify(self, channel: grpc.aio.Channel, *, registered: bool, error: str = "") -> None:
        notify = call(channel, registration_pb2.DESCRIPTOR, "Registration.NotifyRegistrationStatus")
        status = registration_pb2.RegistrationStatus(plugin_registered=registered, error=error)
        await notify(status, timeout=self._timings.notify)
