"""A whole engine over the shipped fakes, a real ledger and real files: one node in one object. Needs the agent.

node = FakeNode(tmp_path)
claim = node.claim("a", "dummy0")
await node.prepare(claim)
sandbox = node.sandbox(claim)
await node.sandboxes.run_sandbox(sandbox, 2)
node = node.restart()      # a new life of the agent over the same disk and the same host
node.close()               # in the end, by whichever life
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman.cdi import CdiFolder
from dragoman.engine.claims import Claims
from dragoman.engine.parts import Parts
from dragoman.engine.rebuild import Rebuilding
from dragoman.engine.recovery import Recovering
from dragoman.engine.reporting import Reporting
from dragoman.engine.sandboxes import Sandboxes
from dragoman.model.claims import AllocationResult, Claim, Consumer, OpaqueConfig, PrepareAnswer
from dragoman.model.parameters import Kind
from dragoman.model.plan import Known
from dragoman.model.records import AllocationRow
from dragoman.model.sandboxes import Sandbox
from dragoman.store.ledger import Ledger
from dragoman_hookspecs import Device, Inventory
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.fakes.cluster import MemoryClaims, MemoryEvents, MemoryPodResources, MemoryStatus
from dragoman_testkit.fakes.hooks import FakeHooks, FakeManager
from dragoman_testkit.fakes.links import MemoryLinks

DRIVER, POOL = "net.dragoman.dev", "node-1"


def devices(*names: str, shareable: bool = False) -> tuple[Device, ...]:
    """Make plain devices."""
    return tuple(Device(name=name, identity=f"tag:{name}", allow_multiple_allocations=shareable) for name in names)


class FakeNode:
    """One life of an agent's engine. The cluster, the managers, the links and the disk outlive it."""

    def __init__(self, folder: Path, *managers: FakeManager, former: FakeNode | None = None, boot: str = "b1") -> None:
        self.folder = folder
        self.clock: VirtualClock = former.clock if former else VirtualClock()
        self.hooks: FakeHooks = former.hooks if former else FakeHooks(*(managers or (_dummy(),)))
        self.links: MemoryLinks = former.links if former else MemoryLinks()
        self.source: MemoryClaims = former.source if former else MemoryClaims()
        self.status: MemoryStatus = former.status if former else MemoryStatus(self.source)
        self.events: MemoryEvents = former.events if former else MemoryEvents()
        self.pod_resources: MemoryPodResources = former.pod_resources if former else MemoryPodResources()
        self.cdi = CdiFolder(folder / "cdi", DRIVER)
        self.ledger = Ledger.open(folder / "state", boot, expected=any(folder.glob(f"cdi/{DRIVER}-*")))
        self.ledgers: list[Ledger] = former.ledgers if former else []
        self.ledgers.append(self.ledger)
        self.late: list[str] = []
        self.returned: list[AllocationRow] = []
        self.parts = Parts(
            driver=DRIVER,
            pool=POOL,
            ledger=self.ledger,
            hooks=self.hooks,
            links=self.links,
            cdi=self.cdi,
            clock=self.clock,
            events=self.events,
            came_late=self.late.extend,
            returned=self.returned.extend,
        )
        self.reporting = Reporting(self.status, self.clock)
        self.claims = Claims(self.parts, self.source, self.find, self.reporting)
        self.sandboxes = Sandboxes(self.parts, self.reporting, self.pod_resources)
        self.recovering = Recovering(self.parts)
        self.rebuilding = Rebuilding(self.parts, self.source, self.find, self.sandboxes, self.recovering)

    def restart(self, boot: str = "b1", *, lost: bool = False, gone: bool = False) -> FakeNode:
        """Begin another life; nothing of this one is told to stop, as after SIGKILL.

        ``lost``: the ledger is broken, ``gone``: its file was removed.
        """
        self.ledger.close()
        if lost:
            (self.folder / "state" / "ledger.db").write_bytes(b"this is no database any more" * 100)
        if gone:
            (self.folder / "state" / "ledger.db").unlink()
        return FakeNode(self.folder, former=self, boot=boot)

    def close(self) -> None:
        """Close the ledgers of this life, of those before and of those after it; in the thread that opened them."""
        for ledger in self.ledgers:
            ledger.close()

    async def recover(self) -> None:
        """Recover as the agent does at start."""
        await self.recovering.recover()

    def find(self, name: str) -> Known | None:
        """Find a device by name, as the inventory does."""
        for fake in self.hooks.fakes.values():
            for device in fake.inventory.devices:
                if device.name == name:
                    kind = Kind(type=fake.type, applies=fake.applies, own=fake.parameters)
                    info = fake.info()
                    return Known(device=device, kind=kind, distribution=info.distribution, version=info.version)
        return None

    def claim(self, name: str, *device: str, pods: tuple[str, ...] = ("pod",), **changes: Any) -> Claim:
        """Put an allocated claim into the cluster, made from a template for pod ``<name>-pod``.

        ``device`` are names, or ``name@share`` for a share.
        """
        results = tuple(
            AllocationResult(
                request=f"r{index}" if index else "net",
                driver=DRIVER,
                pool=POOL,
                device=text.partition("@")[0],
                share_id=text.partition("@")[2] or None,
            )
            for index, text in enumerate(device)
        )
        claim = Claim(
            uid=f"uid-{name}",
            namespace="default",
            name=name,
            results=results,
            reserved_for=tuple(pod_consumer(f"{name}-{pod}") for pod in pods),
            pod_claim_name="nic",
        )
        claim = replace(claim, **changes)
        self.source.put(claim)
        return claim

    async def prepare(self, claim: Claim) -> PrepareAnswer:
        """Prepare one claim as the kubelet does."""
        return (await self.claims.prepare([claim.ref]))[claim.uid]

    async def unprepare(self, claim: Claim) -> str:
        """Unprepare one claim as the kubelet does; gives the error text."""
        return (await self.claims.unprepare([claim.ref]))[claim.uid]

    def sandbox(self, claim: Claim, pod: str = "pod", number: int = 1) -> Sandbox:
        """Make a sandbox with a new network namespace for a pod of the claim."""
        name = f"{claim.name}-{pod}"
        path = f"/run/netns/{name}-{number}"
        if path not in self.links.namespaces:
            self.links.add_namespace(path)
        return Sandbox(
            id=f"{name}-sandbox-{number}",
            pod_uid=f"{name}-uid",
            pod_namespace=claim.namespace,
            pod_name=name,
            netns_path=path,
        )

    async def guards(self) -> list[str]:
        """List the open guards."""
        return [name for name in await self.cdi.present() if "-guard_" in name]

    async def left(self) -> Mapping[str, object]:
        """Give everything that is left on the node; all values are empty where nothing is."""
        return {
            "rows": list(self.ledger.allocations()),
            "attachments": list(self.ledger.attachments()),
            "files": list(await self.cdi.present()),
            "metadata": dict(self.hooks.written),
            "set up": set(self.hooks.set_up),
            "attached": dict(self.hooks.attached),
        }


def pod_consumer(name: str) -> Consumer:
    """Make an entry of ``reservedFor`` for a pod; its UID is ``<name>-uid``."""
    return Consumer(resource="pods", name=name, uid=f"{name}-uid")


def opaque(parameters: Mapping[str, Any], *requests: str, source: str = "FromClaim") -> OpaqueConfig:
    """Make an opaque configuration entry of this driver."""
    return OpaqueConfig(source=source, driver=DRIVER, parameters=parameters, requests=requests)


def _dummy() -> FakeManager:
    return FakeManager(inventory=Inventory(devices=devices("dummy0", "dummy1", "dummy2")))
