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
from loguru import logger

from dragoman.kubelet.edge import KubeletEdge, KubeletOptions
from dragoman.kubelet.registration import Retry
from dragoman.kubelet.rpc import call
from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman_hookspecs import HealthReport


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
            driver="nic.example.com", node="node-7", root=self.root, pod_uid=pod_uid, retry=retry or Retry()
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
    async def channel(self, path: Path, authority: str = "localhost") -> AsyncIterator[grpc.aio.Channel]:
        options = [("grpc.default_authority", authority), ("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(f"unix:{path}", options=options) as channel:
            yield channel

    async def call(self, path: Path, messages: Any, method: str, request: Any, authority: str = "localhost") -> Any:
        async with self.channel(path, authority) as channel:
            return await call(channel, messages.DESCRIPTOR, method)(request, timeout=10, wait_for_ready=True)


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
