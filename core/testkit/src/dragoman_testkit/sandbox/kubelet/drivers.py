"""Registered drivers: their instances, each with one long-lived connection, and the wipe of slices without one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import grpc

from dragoman.clock import Clock
from dragoman.kubelet._proto import dra_v1_pb2, dra_v1beta1_pb2, health_v1_pb2, health_v1alpha1_pb2
from dragoman.kubelet.observed import Observed
from dragoman.kubelet.rpc import call
from dragoman_testkit.sandbox.kubelet.connection import dra_channel
from dragoman_testkit.sandbox.kubelet.health import HealthCache
from dragoman_testkit.sandbox.kubelet.pods import Timings, Wipe

DRA_MESSAGES: Final[dict[str, Any]] = {"v1.DRAPlugin": dra_v1_pb2, "v1beta1.DRAPlugin": dra_v1beta1_pb2}
HEALTH_MESSAGES: Final[dict[str, Any]] = {
    "v1.DRAResourceHealth": health_v1_pb2,
    "v1alpha1.DRAResourceHealth": health_v1alpha1_pb2,
}
"""In the kubelet's order of preference."""


class InvalidPlugin(Exception):
    """The kubelet does not take the plugin; the plugin is told the text."""


class Instance:
    """One endpoint of a driver. ``messages`` and ``health`` are of the versions that were chosen."""

    def __init__(self, driver: str, endpoint: Path, versions: Sequence[str]) -> None:
        self.driver = driver
        self.endpoint = endpoint
        self.messages = _dra_messages(driver, versions)
        self.health = next((HEALTH_MESSAGES[name] for name in HEALTH_MESSAGES if name in versions), None)
        self.channel = dra_channel(endpoint)
        self.connected = False
        self.tasks: list[asyncio.Task[None]] = []

    async def call(self, method: str, request: Any, seconds: float) -> Any:
        """Call a method of ``DRAPlugin``. Raises ``grpc.aio.AioRpcError``."""
        return await call(self.channel, self.messages.DESCRIPTOR, f"DRAPlugin.{method}")(request, timeout=seconds)

    async def close(self) -> None:
        """End its tasks and its connection."""
        for task in self.tasks:
            task.cancel()
        try:
            await asyncio.gather(*self.tasks, return_exceptions=True)
        finally:
            await self.channel.close(0)


class Drivers:
    """All registered instances, in the order of registration. ``connected`` are the endpoints with a connection."""

    def __init__(self, health: HealthCache, clock: Clock, timings: Timings, wipe: Wipe | None) -> None:
        self.connected = Observed[frozenset[tuple[str, Path]]](frozenset())
        self._health = health
        self._clock = clock
        self._timings = timings
        self._wipe = wipe
        self._instances: list[Instance] = []
        self._wipes: dict[str, asyncio.Task[None]] = {}

    def add(self, driver: str, endpoint: Path, versions: Sequence[str]) -> Instance:
        """Register an instance and begin to connect. Raises ``InvalidPlugin``."""
        if any((known.driver, known.endpoint) == (driver, endpoint) for known in self._instances):
            raise InvalidPlugin(f"driver {driver} is already registered with endpoint {endpoint}")
        instance = Instance(driver, endpoint, versions)
        self._instances.append(instance)
        self._connections_changed(driver)
        instance.tasks.append(asyncio.create_task(self._follow(instance)))
        if instance.health is not None:
            instance.tasks.append(asyncio.create_task(self._watch_health(instance, instance.health)))
        return instance

    async def remove(self, instance: Instance) -> None:
        """Deregister an instance."""
        self._instances.remove(instance)
        await instance.close()
        self._health.clear(instance.driver)
        self._connections_changed(instance.driver)

    def pick(self, driver: str) -> Instance | None:
        """Give the instance to call: the latest that is connected, else the latest."""
        instances: list[Instance | None] = [known for known in self._instances if known.driver == driver]
        connected = [known for known in instances if known and known.connected]
        return (connected or instances or [None])[-1]

    async def close(self) -> None:
        """Drop everything, as a kubelet that ends does: nothing is wiped."""
        for timer in self._wipes.values():
            timer.cancel()
        await asyncio.gather(*self._wipes.values(), return_exceptions=True)
        self._wipes.clear()
        while self._instances:
            await self._instances.pop().close()
        self.connected.set(frozenset())

    async def _follow(self, instance: Instance) -> None:
        """Keep the connection, idle or not, and note each change of it."""
        while True:
            state = instance.channel.get_state(try_to_connect=True)
            instance.connected = state is grpc.ChannelConnectivity.READY
            self._connections_changed(instance.driver)
            await instance.channel.wait_for_state_change(state)

    async def _watch_health(self, instance: Instance, messages: Any) -> None:
        """Keep a stream open. The end of any stream makes all devices of the driver unknown."""
        watch = call(instance.channel, messages.DESCRIPTOR, "DRAResourceHealth.NodeWatchResources")
        while True:
            try:
                async for response in watch(messages.NodeWatchResourcesRequest(), wait_for_ready=True):
                    self._health.update(instance.driver, response)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                    return
            finally:
                self._health.clear(instance.driver)
            await self._clock.sleep(self._timings.health_retry)

    def _connections_changed(self, driver: str) -> None:
        connected = frozenset((known.driver, known.endpoint) for known in self._instances if known.connected)
        self.connected.set(connected)
        if any(name == driver for name, _ in connected):
            if timer := self._wipes.pop(driver, None):
                timer.cancel()
        elif driver not in self._wipes:
            self._wipes[driver] = asyncio.create_task(self._wipe_later(driver))

    async def _wipe_later(self, driver: str) -> None:
        await self._clock.sleep(self._timings.wipe)
        if self._wipe:
            await self._wipe(driver)


def _dra_messages(driver: str, versions: Sequence[str]) -> Any:
    for version in versions:
        if version in DRA_MESSAGES:
            return DRA_MESSAGES[version]
    raise InvalidPlugin(f"driver {driver} offers none of {', '.join(DRA_MESSAGES)}: {', '.join(versions)}")
