"""Ten thousand claims come and go, in every way that claims do; the engine holds no more afterwards than before.

The engine with its background work over the real ledger, the real facade and real files; the kernel and the cluster are
fakes, and time is virtual.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from loguru import logger

from dragoman.cdi import CdiFolder
from dragoman.engine.node import Engine
from dragoman.engine.parts import Parts
from dragoman.engine.reporting import Reporting
from dragoman.hooks import Hooks
from dragoman.model.claims import AllocationResult, Claim, Consumer
from dragoman.model.parameters import Kind
from dragoman.model.plan import Known
from dragoman.model.sandboxes import Container, Sandbox
from dragoman.plugins import Sections, contexts, load_descriptors
from dragoman.store.ledger import Ledger
from dragoman_hookspecs import (
    COMMON_PARAMETERS,
    AttachDevice,
    Attached,
    Context,
    DetachDevice,
    Device,
    DeviceError,
    DeviceManager,
    FreeDevice,
    Inventory,
    JsonObject,
    Link,
    NoSettings,
    Prepared,
    RecoverDevices,
    Recovered,
    SetupDevice,
    hookimpl,
)
from dragoman_metadata.writer import plugin as metadata
from dragoman_testkit.descriptors import held
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.fakes.cluster import MemoryClaims, MemoryEvents, MemoryPodResources, MemoryStatus
from dragoman_testkit.fakes.links import MemoryLinks

DRIVER, POOL = "net.dragoman.dev", "node-1"
DEVICES = 16
GRACE = 120.0
NOISE = 400
"""Objects by which two counts may differ: sqlite3 keeps up to 200 references to cursors that are gone. What is kept of
each claim, and of ten thousand claims that of a single fate, is more.
"""
MEMORY = Path("/dev/shm")

FATES = ("used", "shared", "never-run", "setup-fails", "attach-fails", "netns-dies", "asked-twice", "orphaned")
"""The first word of a claim's name says what becomes of it."""


class Fateful:
    """A manager whose devices do what the name of their claim says."""

    def __init__(self, context: Context, settings: NoSettings) -> None:
        del context, settings
        self._failed: set[str] = set()

    @hookimpl
    def discover_devices(self) -> Inventory:
        return Inventory(devices=())

    @hookimpl
    def setup_device(self, request: SetupDevice) -> Prepared:
        allocation = request.allocation
        if allocation.claim_name.startswith("setup-fails"):
            raise DeviceError("there is no room")
        return Prepared(state={"set": "up"}, target=Link(name=allocation.device.name, identity="tag"))

    @hookimpl
    def attach_device(self, request: AttachDevice) -> Attached:
        allocation = request.record.allocation
        if allocation.claim_name.startswith("attach-fails") and allocation.claim_uid not in self._failed:
            self._failed.add(allocation.claim_uid)
            raise DeviceError("not yet")
        self._failed.discard(allocation.claim_uid)
        return Attached(interface=allocation.device.name, mac="02:00:00:00:00:01", ips=("192.0.2.1/24",))

    @hookimpl
    def detach_device(self, request: DetachDevice) -> JsonObject:
        return {"set": "up"}

    @hookimpl
    def free_device(self, request: FreeDevice) -> None:
        pass

    @hookimpl
    def recover_devices(self, request: RecoverDevices) -> list[Recovered]:
        return []


KIND = Kind(type="fateful", applies=COMMON_PARAMETERS, own=None)
PLUGINS = (
    ("fateful", DeviceManager(type="fateful", settings_key="fateful", settings=NoSettings, create=Fateful)),
    ("metadata", metadata),
)


def find(name: str) -> Known:
    device = Device(name=name, identity="tag", allow_multiple_allocations=name.startswith("shared"))
    return Known(device=device, kind=KIND, distribution="dragoman-fateful", version="1.0")


@dataclass(frozen=True)
class Held:
    """What this process holds: descriptors, threads, and memory as blocks of the allocator and as tracked objects."""

    descriptors: frozenset[tuple[str, str]]
    threads: set[threading.Thread]
    blocks: int
    objects: int

    @classmethod
    def now(cls) -> Held:
        for _ in range(3):
            gc.collect()
        return cls(held(), set(threading.enumerate()), sys.getallocatedblocks(), len(gc.get_objects()))


class Node:
    """An agent's engine and what surrounds it."""

    def __init__(self, folder: Path, *, inline: bool) -> None:
        self.clock = VirtualClock()
        self.source = MemoryClaims()
        self.links = MemoryLinks()
        self.status = MemoryStatus()
        self.events = MemoryEvents()
        self.pod_resources = MemoryPodResources()
        self.cdi = folder / "cdi"
        base = Context(node_name=POOL, driver_name=DRIVER, state_dir=folder / "state", cdi_dir=self.cdi)
        self.hooks = Hooks(load_descriptors(PLUGINS, Sections(), context=contexts(base)), inline=inline)
        self.ledger = Ledger.open(folder / "state", "boot-1")
        self.reporting = Reporting(self.status, self.clock)
        parts = Parts(
            driver=DRIVER,
            pool=POOL,
            ledger=self.ledger,
            hooks=self.hooks,
            links=self.links,
            cdi=CdiFolder(self.cdi, DRIVER),
            clock=self.clock,
            events=self.events,
        )
        self.engine = Engine(
            parts,
            source=self.source,
            node_claims=self.source,
            find=find,
            reporting=self.reporting,
            pod_resources=self.pod_resources,
            orphan_grace=GRACE,
        )

    async def churn(self, numbers: range) -> None:
        """Have one claim for each number come and go, as many at once as there are devices."""
        for first in numbers[::DEVICES]:
            batch = asyncio.gather(*(self._live(number) for number in range(first, first + DEVICES)))
            while not batch.done():
                await self.clock.advance(0.5)
            await batch
            # Orphans are found, and what is to be told later is told.
            while self.ledger.allocations() or self.reporting.pending:
                await self.clock.advance(GRACE)
            self._forget()

    def _forget(self) -> None:
        """Forget what only the fakes remember."""
        self.status.writes.clear()
        self.events.events.clear()
        self.pod_resources.asked.clear()

    async def _live(self, number: int) -> None:
        fate = FATES[number % len(FATES)]
        claim = _claim(fate, number)
        self.source.put(claim)
        if await self._is_prepared(claim):
            sandbox = _sandbox(claim)
            if fate != "never-run":
                await self._run(sandbox)
            if fate == "netns-dies":
                self.links.remove_namespace(sandbox.netns_path or "")
            await self.engine.sandboxes.stop_sandbox(sandbox, 1)
            await self.engine.sandboxes.remove_sandbox(sandbox, 1)
            self._end(sandbox)
        self.source.delete(claim.ref)
        if fate != "orphaned":
            assert await self.engine.claims.unprepare([claim.ref]) == {claim.uid: ""}

    async def _is_prepared(self, claim: Claim) -> bool:
        for _ in range(2 if claim.name.startswith("asked-twice") else 1):
            answer = (await self.engine.claims.prepare([claim.ref]))[claim.uid]
        assert bool(answer.error) == claim.name.startswith("setup-fails"), answer.error
        return not answer.error

    async def _run(self, sandbox: Sandbox) -> None:
        self.links.add_namespace(sandbox.netns_path or "")
        container = Container(id="c", sandbox_id=sandbox.id, name="main")
        await self.engine.sandboxes.run_sandbox(sandbox, 2)
        while await self.engine.sandboxes.create_container(sandbox, container) is not None:
            await self.clock.sleep(1)

    def _end(self, sandbox: Sandbox) -> None:
        if sandbox.netns_path in self.links.namespaces:
            self.links.remove_namespace(sandbox.netns_path)


def _claim(fate: str, number: int) -> Claim:
    shared = fate == "shared"
    result = AllocationResult(
        request="net",
        driver=DRIVER,
        pool=POOL,
        device="shared0" if shared else f"dev{number % DEVICES}",
        share_id=f"5a0c1d52-0000-4000-8000-{number:012}" if shared else None,
    )
    name = f"{fate}-{number}"
    return Claim(
        uid=f"c1a10000-0000-4000-8000-{number:012}",
        namespace="default",
        name=name,
        results=(result,),
        reserved_for=(Consumer(resource="pods", name=f"pod-{number}", uid=f"pod-uid-{number}"),),
        pod_claim_name=None if fate == "orphaned" else "nic",
    )


def _sandbox(claim: Claim) -> Sandbox:
    number = claim.name.rpartition("-")[2]
    return Sandbox(
        id=f"sandbox-{number}",
        pod_uid=f"pod-uid-{number}",
        pod_namespace="default",
        pod_name=f"pod-{number}",
        netns_path=f"/run/netns/{number}",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: this is not about disks."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="dragoman-churn-") as made:
        yield Path(made)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Nobody reads the log of ten thousand claims."""
    logger.disable("dragoman")
    yield
    logger.enable("dragoman")


@asynccontextmanager
async def running(folder: Path, *, inline: bool) -> AsyncIterator[Node]:
    node = Node(folder, inline=inline)
    await node.hooks.start()
    tasks = [asyncio.create_task(work) for work in (node.reporting.run(), node.engine.orphans.run())]
    yield node
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await node.engine.drain()
    await node.hooks.stop()
    node.ledger.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("inline", "first", "claims"), [(True, 960, 9_040), (False, 960, 800)])
async def test_after_ten_thousand_claims_descriptors_threads_and_memory_are_as_after_the_first_ones(
    folder: Path, *, inline: bool, first: int, claims: int
) -> None:
    """With hooks in the caller, where it is fast; some of it with the plugins' threads as well."""
    async with running(folder, inline=inline) as node:
        await node.churn(range(first))
        before = Held.now()
        await node.churn(range(first, first + claims))
        after = Held.now()
        assert (node.ledger.allocations(), node.ledger.attachments(), node.reporting.pending) == ([], [], 0)
        assert [path.name for path in node.cdi.iterdir()] == []
    # What earlier tests left behind may end at any time.
    assert after.descriptors - before.descriptors == frozenset()
    assert after.threads - before.threads == set()
    assert after.objects - before.objects < NOISE
    # Python 3.12, and no other, keeps for ever what is interned, as pathlib does with each part of a path.
    if sys.version_info[:2] != (3, 12):
        assert after.blocks - before.blocks < NOISE
