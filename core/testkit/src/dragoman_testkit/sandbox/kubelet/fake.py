"""The stand-in as a whole."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from dragoman.clock import Clock
from dragoman.model.claims import PreparedDevice, base_request
from dragoman_testkit.sandbox.kubelet.claims import Claims
from dragoman_testkit.sandbox.kubelet.drivers import Drivers
from dragoman_testkit.sandbox.kubelet.health import Device, HealthCache
from dragoman_testkit.sandbox.kubelet.plugins import Plugins
from dragoman_testkit.sandbox.kubelet.podresources import PodResourcesServer
from dragoman_testkit.sandbox.kubelet.pods import ClaimReader, PodSpec, Timings, Wipe


class FakeKubelet:
    """A kubelet below ``root`` (short: sockets are below it), for the pods that it is told to prepare.

    ``read_claim`` is its API server. ``wipe`` is called where the kubelet deletes ResourceSlices: with None at its
    start, with a driver's name after that had no connection for 30 s.
    """

    def __init__(
        self,
        root: Path,
        node_name: str,
        clock: Clock,
        read_claim: ClaimReader,
        *,
        wipe: Wipe | None = None,
        timings: Timings | None = None,
    ) -> None:
        self.root = root
        self.node_name = node_name
        self.pods: dict[str, PodSpec] = {}
        self._clock = clock
        self._read_claim = read_claim
        self._wipe = wipe
        self._timings = timings or Timings()
        self._tasks: list[asyncio.Task[None]] = []
        self._begin_life()

    async def start(self) -> None:
        """Begin: wipe all slices in the background, serve pod resources, register what is there."""
        await self._resources.start()
        self._tasks = [asyncio.create_task(self._plugins.run())]
        if self._wipe:
            self._tasks.append(asyncio.create_task(self._wipe_all(self._wipe)))

    async def stop(self) -> None:
        """End, without a word to the drivers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self._drivers.close()
        await self._resources.stop()

    async def restart(self) -> None:
        """End and begin a new life, with the checkpoint of the old one."""
        await self.stop()
        self._begin_life()
        await self.start()

    async def registered(self, driver: str) -> None:
        """Wait until a driver is registered and connected."""
        await self._drivers.connected.wait(lambda found: any(name == driver for name, _ in found))

    async def deregistered(self, driver: str) -> None:
        """Wait until a driver has no connection."""
        await self._drivers.connected.wait(lambda found: all(name != driver for name, _ in found))

    async def connected(self, endpoint: Path) -> None:
        """Wait until the instance with that DRA socket is registered and connected."""
        await self._drivers.connected.wait(lambda found: any(path == endpoint for _, path in found))

    async def disconnected(self, endpoint: Path) -> None:
        """Wait until no instance has that DRA socket and a connection."""
        await self._drivers.connected.wait(lambda found: all(path != endpoint for _, path in found))

    async def prepare_pod(self, pod: PodSpec) -> None:
        """Do what comes before a new sandbox of the pod; trying again is the caller's. Raises ``PrepareFailed``."""
        self.pods[pod.uid] = pod
        await self._claims.prepare(pod)

    async def unprepare_pod(self, pod: PodSpec) -> None:
        """Do what comes after the last sandbox of the pod has stopped. Raises ``UnprepareFailed``."""
        await self._claims.unprepare(pod)
        self.pods.pop(pod.uid, None)

    def cdi_devices(self, pod: PodSpec, container: str) -> list[str]:
        """List the CDI ids that a container is created with, in order and not freed of doubles."""
        spec = next(spec for spec in pod.containers if spec.name == container)
        return [
            name
            for claim, request in spec.claims
            for _driver, device in self._devices(pod, claim)
            if request is None or not device.requests or request in device.requests
            for name in device.cdi_device_ids
        ]

    def health(self) -> dict[Device, tuple[str, str]]:
        """Give state and message of each device (driver, pool, name) that was reported."""
        return {device: self._health.read(device) for device in self._health}

    def pod_status(self, pod: PodSpec) -> dict[str, list[dict[str, Any]]]:
        """Give ``allocatedResourcesStatus`` of each container, by its name."""
        return {spec.name: [self._claim_status(pod, *entry) for entry in spec.claims] for spec in pod.containers}

    @property
    def calls(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """The calls of this life: driver, method, claim UIDs."""
        return self._claims.calls

    @property
    def registration_errors(self) -> dict[Path, str]:
        """Why a socket in ``plugins_registry`` is not registered."""
        return self._plugins.errors

    def _begin_life(self) -> None:
        self._health = HealthCache(self._clock, self._timings.health_default)
        self._drivers = Drivers(self._health, self._clock, self._timings, self._wipe)
        self._plugins = Plugins(self.root / "plugins_registry", self._drivers, self._clock, self._timings)
        self._claims = Claims(self.root / "dra_manager_state", self._drivers, self._read_claim, self._timings)
        socket = self.root / "pod-resources" / "kubelet.sock"
        self._resources = PodResourcesServer(socket, self.pods, self._claims.cache)

    async def _wipe_all(self, wipe: Wipe) -> None:
        await wipe(None)

    def _devices(self, pod: PodSpec, pod_claim_name: str) -> list[tuple[str, PreparedDevice]]:
        entry = self._claims.cache.get(pod.claim_of(pod_claim_name))
        return list(entry.devices()) if entry else []

    def _claim_status(self, pod: PodSpec, claim: str, request: str | None) -> dict[str, Any]:
        resources: dict[str, dict[str, str]] = {}
        for driver, device in self._devices(pod, claim):
            if request is None or not device.requests or request in map(base_request, device.requests):
                name = next(iter(device.cdi_device_ids), f"{driver}/{device.pool}/{device.device}")
                state, message = self._health.read((driver, device.pool, device.device))
                status = {"resourceID": name, "health": state} | ({"message": message} if message else {})
                resources.setdefault(name, status)
        return {"name": f"claim:{claim}" + (f"/{request}" if request else ""), "resources": list(resources.values())}
