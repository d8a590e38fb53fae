"""The kubelets that have to behave alike, and a driver that writes down what it is told."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from dragoman.clock import SystemClock
from dragoman.kubelet._proto import registration_pb2
from dragoman_testkit.sandbox.kubelet import FakeKubelet, Timings
from tests.cluster import files
from tests.cluster.node import Node
from tests.cluster.shared.pods import FakePods, Pods, RealPods
from tests.cluster.shared.wire import slice_of

VERSIONS = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
_SERVICE = "pluginregistration.Registration"

Handlers = dict[str, "grpc.RpcMethodHandler[Any, Any]"]
"""Methods of a service by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubelet:
    """``reach`` gives the path under which this process finds a path below the kubelet's ``root``.

    ``publish`` makes a slice of a driver on the node, ``slices`` counts them. ``pods`` are the node's.
    """

    root: Path
    reach: Callable[[Path], Path]
    restart: Callable[[], object]
    publish: Callable[[str], object]
    slices: Callable[[str], int]
    pods: Pods


@dataclass(slots=True, kw_only=True)
class Driver:
    """A driver of which the registration is asked. ``told`` is what it was told: registered or not, and why not."""

    kubelet: Kubelet
    name: str
    type: str = "DRAPlugin"
    versions: tuple[str, ...] = VERSIONS
    endpoint: str = ""
    asked: int = 0
    told: list[tuple[bool, str]] = field(default_factory=list)

    @contextlib.contextmanager
    def serving(self, socket: str = "") -> Iterator[None]:
        """Serve for as long as the context lasts; ``socket``: another name of the registration socket."""
        registry = self.kubelet.root / "plugins_registry"
        reached = self.kubelet.reach(registry) / (socket or f"{self.name}-reg.sock")
        self.endpoint = self.endpoint or str(self._folder() / "dra.sock")
        # The kubelet connects to the driver as soon as it knows of it.
        with self._served(), _server(reached, {_SERVICE: self._handlers()}):
            yield

    def services(self) -> dict[str, Handlers]:
        """Give what it serves beside its registration, by the full name of the service."""
        return {}

    @contextlib.contextmanager
    def _served(self) -> Iterator[None]:
        reached = self.kubelet.reach(self._folder())
        reached.mkdir(parents=True, exist_ok=True)
        if (reached / "dra.sock").exists():
            yield
            return
        with _server(reached / "dra.sock", self.services()):
            yield

    def _folder(self) -> Path:
        return self.kubelet.root / "plugins" / self.name

    def _handlers(self) -> Handlers:
        unary = grpc.unary_unary_rpc_method_handler
        info, status = registration_pb2.InfoRequest, registration_pb2.RegistrationStatus
        serialize = registration_pb2.PluginInfo.SerializeToString
        answer = registration_pb2.RegistrationStatusResponse.SerializeToString
        return {
            "GetInfo": unary(self._get_info, info.FromString, serialize),
            "NotifyRegistrationStatus": unary(self._notify, status.FromString, answer),
        }

    def _get_info(self, _: Any, __: Any) -> registration_pb2.PluginInfo:
        self.asked += 1
        return registration_pb2.PluginInfo(
            type=self.type, name=self.name, endpoint=self.endpoint, supported_versions=self.versions
        )

    def _notify(self, status: Any, _: Any) -> registration_pb2.RegistrationStatusResponse:
        self.told.append((status.plugin_registered, status.error))
        return registration_pb2.RegistrationStatusResponse()


@contextlib.contextmanager
def fake() -> Iterator[Kubelet]:
    """Give the stand-in, in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="kubelet")
    thread.start()
    slices: list[str] = []

    async def wipe(driver: str | None) -> None:
        slices[:] = [name for name in slices if driver not in (None, name)]

    def run(work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(60)

    pods = FakePods(run)
    with tempfile.TemporaryDirectory(prefix="kubelet-", dir="/tmp") as folder:
        timings = Timings(reconcile=0.1, wipe=10.0, health_retry=0.5)  # what follows what is judged, not how soon
        kubelet = FakeKubelet(Path(folder), files.NODE, SystemClock(), pods.read, wipe=wipe, timings=timings)
        pods.kubelet = kubelet
        run(kubelet.start())
        try:
            yield Kubelet(
                root=Path(folder),
                reach=lambda path: path,
                restart=lambda: run(kubelet.restart()),
                publish=slices.append,
                slices=slices.count,
                pods=pods,
            )
        finally:
            run(pods.close())
            run(kubelet.stop())
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


def real(node: Node) -> Kubelet:
    """Give the node's kubelet."""

    def restart() -> None:
        node.parts["kubelet"].end()
        node.parts["kubelet"].start(node.spaces)

    def slices(driver: str) -> int:
        return len(node.api.list("ResourceSlice", fieldSelector=f"spec.driver={driver}"))

    return Kubelet(
        root=Path("/var/lib/kubelet"),
        reach=node.spaces.path,
        restart=restart,
        publish=lambda driver: node.api.create(slice_of(driver, nodeName=files.NODE)),
        slices=slices,
        pods=RealPods(node),
    )


@contextlib.contextmanager
def _server(socket: Path, services: dict[str, Handlers]) -> Iterator[None]:
    with ThreadPoolExecutor(8) as threads:  # a stream takes one for as long as it lasts
        server = grpc.server(threads)
        for name, handlers in services.items():
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
        server.add_insecure_port(f"unix:{socket}")
        server.start()
        try:
            yield
        finally:
            server.stop(None).wait()
            socket.unlink(missing_ok=True)
