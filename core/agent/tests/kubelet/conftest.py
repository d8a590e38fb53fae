from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from loguru import logger

from dragoman.kubelet.edge import KubeletEdge, KubeletOptions
from dragoman.kubelet.registration import Retry
from dragoman.kubelet.rpc import call
from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman_hookspecs import HealthReport
from dragoman_testkit.sandbox.kubelet import FakeKubelet, Timings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run this folder's tests in one loop, as the agent does: gRPC delivers late events of a loop that has ended."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("asyncio"):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


PATIENT = Retry(timeout=60)
"""An attempt does not end while a slow machine answers it."""


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Claims:
    """A scripted claim service: what ``on_prepare`` and ``on_unprepare`` do is the test's."""

    def __init__(self) -> None:
        self.prepared: list[list[ClaimRef]] = []
        self.unprepared: list[list[ClaimRef]] = []
        self.answers: dict[str, PrepareAnswer] = {}
        self.errors: dict[str, str] = {}
        self.fault: Exception | None = None
        self.gate: Callable[[], Awaitable[None]] | None = None

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        self.prepared.append(list(claims))
        await self._work()
        return self.answers

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        self.unprepared.append(list(claims))
        await self._work()
        return self.errors

    async def _work(self) -> None:
        if self.gate:
            await self.gate()
        if self.fault:
            raise self.fault


class Healths:
    """A health source that yields what the test puts into it; each stream begins with the latest."""

    def __init__(self) -> None:
        self.latest: Sequence[HealthReport] = ()
        self.streams: list[asyncio.Queue[Sequence[HealthReport] | Exception]] = []
        self.closed = asyncio.Queue[None]()

    async def watch(self) -> AsyncIterator[Sequence[HealthReport]]:
        queue = asyncio.Queue[Sequence[HealthReport] | Exception]()
        self.streams.append(queue)
        try:
            yield self.latest
            while True:
                item = await queue.get()
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed.put_nowait(None)


class Rig:
    """An edge over scripted services, and the kubelet's side of its sockets."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.claims = Claims()
        self.healths = Healths()

    def edge(self, clock: Any = None, retry: Retry | None = None, pod_uid: str = "") -> KubeletEdge:
        options = KubeletOptions(
            driver="nic.example.com", node="node-7", root=self.root, pod_uid=pod_uid, retry=retry or PATIENT
        )
        return KubeletEdge(options, self.claims, self.healths, clock or RealClock())

    @property
    def registration(self) -> Path:
        return self.root / "plugins_registry" / "nic.example.com-reg.sock"

    @property
    def dra(self) -> Path:
        return self.root / "plugins" / "nic.example.com" / "dra.sock"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[KubeletEdge]:
        edge = self.edge()
        await edge.serve()
        try:
            yield edge
        finally:
            await edge.stop()

    @asynccontextmanager
    async def registered(self, kubelet: FakeKubelet, **options: Any) -> AsyncIterator[KubeletEdge]:
        edge = self.edge(**options)
        await edge.serve()
        edge.register()
        try:
            await edge.registration.wait(lambda state: state.registered)
            await kubelet.registered("nic.example.com")
            yield edge
        finally:
            await edge.stop()

    @asynccontextmanager
    async def channel(self, path: Path, authority: str = "localhost") -> AsyncIterator[grpc.aio.Channel]:
        options = [("grpc.default_authority", authority), ("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(f"unix:{path}", options=options) as channel:
            yield channel

    async def call(self, path: Path, messages: Any, method: str, request: Any, authority: str = "localhost") -> Any:
        async with self.channel(path, authority) as channel:
            return await call(channel, messages.DESCRIPTOR, method)(request, timeout=60, wait_for_ready=True)


class Cluster:
    """What the fake kubelet asks of the API server: claims by name, and wipes of slices."""

    def __init__(self) -> None:
        self.claims: dict[tuple[str, str], dict[str, Any]] = {}
        self.wipes = asyncio.Queue[str | None]()

    async def read(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        return self.claims.get((namespace, name))

    async def wipe(self, driver: str | None) -> None:
        self.wipes.put_nowait(driver)

    def forget_wipes(self) -> None:
        """Forget those so far: a driver whose connection takes longer than a quick kubelet waits is wiped too."""
        while not self.wipes.empty():
            self.wipes.get_nowait()

    def add(self, name: str, *pods: str, driver: str = "nic.example.com") -> ClaimRef:
        """Make an allocated claim that is reserved for pods."""
        ref = ClaimRef(uid=f"uid-{name}", namespace="team", name=name)
        self.claims["team", name] = {
            "metadata": {"uid": ref.uid},
            "status": {
                "allocation": {"devices": {"results": [{"driver": driver, "request": "uplink"}]}},
                "reservedFor": [{"resource": "pods", "uid": f"uid-{pod}"} for pod in pods],
            },
        }
        return ref


QUICK_KUBELET = Timings(
    reconcile=0.005,
    dial=60,
    get_info=60,
    notify=60,
    first_backoff=0.005,
    longest_backoff=0.02,
    wipe=0.05,
    health_retry=0.01,
)
"""Quick to begin, and patient with who answers."""


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest_asyncio.fixture(loop_scope="session")
async def kubelet(root: Path, cluster: Cluster) -> AsyncIterator[FakeKubelet]:
    """A kubelet with short times; the clock is real."""
    fake = FakeKubelet(root, "node-7", RealClock(), cluster.read, wipe=cluster.wipe, timings=QUICK_KUBELET)
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture
def root() -> Iterator[Path]:
    """A kubelet root with a short path: the ones that pytest makes leave no room for a socket's name."""
    folder = Path(tempfile.mkdtemp(prefix="k", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def rig(root: Path) -> Rig:
    return Rig(root)


@pytest.fixture
def real_clock() -> RealClock:
    return RealClock()


@pytest.fixture
def records() -> Iterator[list[Any]]:
    """The records of the log."""
    found: list[Any] = []
    number = logger.add(lambda message: found.append(message.record), level=0)
    yield found
    logger.remove(number)
