"""One life of an agent: the engine over the real ledger, real plugins behind the real facade, real links and files."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from typing import Any

from dragoman.clock import SystemClock
from dragoman.engine.gate import Gate
from dragoman.engine.gated import GatedClaims, GatedSandboxes
from dragoman.engine.handover import Handover, LifeLine
from dragoman.engine.node import CurrentEngine, Engine
from dragoman.engine.parts import Parts
from dragoman.engine.reporting import Reporting
from dragoman.hooks import Limits
from dragoman.links import HostLinks
from dragoman.model.claims import Claim, ClaimRef, PrepareAnswer
from dragoman.model.errors import Unavailable
from dragoman.model.parameters import Kind
from dragoman.model.plan import Known
from dragoman.model.sandboxes import Container, Sandbox
from dragoman.plugins import PluginSet, Sections, contexts, load_descriptors
from dragoman.store.ledger import Ledger
from dragoman.store.lock import NodeLock
from dragoman_dummy import plugin as dummy
from dragoman_hookspecs import Context, Device, DeviceManager, Inventory, NoSettings
from dragoman_kit.manager import NetdevManager
from dragoman_macvlan import plugin as macvlan
from dragoman_metadata.writer import plugin as metadata
from dragoman_testkit.fakes.cluster import MemoryEvents, MemoryPodResources, MemoryStatus

from .boundaries import Boundaries, CountedHooks
from .world import DRIVER, MADE_KIND, NIC_MAC, POOL, World

BUDGET = 120.0
"""Seconds for an attach or detach, of which none takes that long here, nor another hook, on a slow machine either."""
UNHURRIED = Limits(**{limit.name: BUDGET for limit in fields(Limits)})


class Nic(NetdevManager[NoSettings]):
    """A manager of links that are there already, as the one for SR-IOV is: moved into pods and brought back."""

    type = "nic"

    def inventory(self) -> Inventory:
        """Give the one that stands for hardware, wherever it is."""
        return Inventory(devices=(Device(name="eth1", identity=f"mac:{NIC_MAC}", link="eth1"),))


nic = DeviceManager(type=Nic.type, settings_key="nic", settings=NoSettings, create=Nic)

PLUGINS = (("dummy", dummy), ("macvlan", macvlan), ("metadata", metadata), ("nic", nic))
SECTIONS = Sections(
    managers={
        "dummy": {"count": 6, "linkKind": MADE_KIND},
        "macvlan": {"ifaces": [{"parentIfName": "up0", "count": 2}]},
    }
)


@dataclass
class Line:
    """The connection to the agent that gives the lock up; in these tests one is told by other means."""

    async def serving(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Nobody:
    """Satisfies ``Asker`` and ``ActiveAgent``: there is no other agent that could be reached."""

    async def ask(self) -> LifeLine:
        """Have the lock given up."""
        return Line()

    async def prepare(self, claims: object) -> Any:
        """Have a batch prepared."""
        raise Unavailable("there is no other agent")

    unprepare = prepare

    async def container_gate(self, sandbox: Sandbox, container: Container) -> str | None:
        """Ask about a container."""
        raise Unavailable("there is no other agent")

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Hand an event of a sandbox on."""
        raise Unavailable("there is no other agent")

    stop_sandbox = remove_sandbox = run_sandbox


class Life:
    """Satisfies the ``Node`` of a handover, as the application does. ``take`` makes it the active agent."""

    def __init__(self, world: World, boundaries: Boundaries | None = None) -> None:
        self.world = world
        self.boundaries = boundaries or Boundaries()
        self.clock = SystemClock()
        self.hooks = CountedHooks(_plugins(world), UNHURRIED)
        self.hooks.boundaries = self.boundaries
        self.links = HostLinks()
        self.current = CurrentEngine()
        gate = Gate()
        self.claims = GatedClaims(gate, self.current, Nobody(), self.clock)
        self.sandboxes = GatedSandboxes(gate, self.current, Nobody(), self.clock)
        lock = NodeLock(world.state, self.clock)
        self.handover = Handover(node=self, gate=gate, lock=lock, asker=Nobody(), clock=self.clock)
        self.ledger: Ledger | None = None
        self._was_active = False
        self.activated = asyncio.Event()
        self._devices: dict[str, Known] = {}

    async def take(self) -> None:
        """Become the active agent: lock, ledger, plugins, recovery."""
        await self.handover.take()

    def arm(self) -> None:
        """Count the boundaries from now on."""
        self.boundaries.arm(self.world.folder)

    def opened(self) -> Ledger:
        """Give the ledger, which is open."""
        assert self.ledger is not None
        return self.ledger

    async def open_ledger(self) -> None:
        """Open the ledger and build the engine on it."""
        self.ledger = Ledger.open(self.world.state, "boot-1", self.boundaries.commit)
        parts = Parts(
            driver=DRIVER,
            pool=POOL,
            ledger=self.ledger,
            hooks=self.hooks,
            links=self.links,
            cdi=self.world.cdi,
            clock=self.clock,
            events=MemoryEvents(),
        )
        engine = Engine(
            parts,
            source=self.world.claims,
            node_claims=self.world.claims,
            find=self._devices.get,
            reporting=Reporting(MemoryStatus(), self.clock),
            pod_resources=MemoryPodResources(),
            orphan_grace=3600.0,
        )
        self.current.set(engine)

    async def recover(self) -> None:
        """Start the plugins and bring the node in order."""
        await self.hooks.start()
        await self.current.engine.recovering.recover()

    async def take_calls(self) -> None:
        """Nobody hands on."""

    async def become_active(self) -> None:
        """Learn the devices; an agent that was active before makes up for what the runtime told meanwhile."""
        for info in self.hooks.managers():
            kind = Kind(type=info.type, applies=info.applies, own=info.parameters)
            for device in (await self.hooks.discover_devices(info.type)).devices:
                self._devices[device.name] = Known(
                    device=device, kind=kind, distribution=info.distribution, version=info.version
                )
        if self._was_active:
            await self.catch_up()
            self.activated.set()
        self._was_active = True

    async def catch_up(self) -> None:
        """Learn the sandboxes that came and went while the gate was closed."""
        await self.sandboxes.resynchronize()

    async def become_passive(self) -> None:
        """End what uses the ledger."""
        await self.current.engine.drain()
        await self.hooks.stop()

    async def close_ledger(self) -> None:
        """Close the ledger if it is open."""
        self.current.set(None)
        ledger, self.ledger = self.ledger, None
        if ledger is not None:
            ledger.close()

    async def prepare(self, claim: Claim) -> PrepareAnswer:
        """Prepare one claim as the kubelet does."""
        return (await self.claims.prepare([claim.ref]))[claim.uid]

    async def unprepare(self, ref: ClaimRef) -> str:
        """Unprepare one claim as the kubelet does; gives the error."""
        return (await self.claims.unprepare([ref]))[ref.uid]

    async def run_sandbox(self, claim: Claim) -> None:
        """Tell that the pod of the claim runs."""
        await self.sandboxes.run_sandbox(self.world.sandbox(claim), BUDGET)

    async def stop_sandbox(self, claim: Claim) -> None:
        """Tell that the pod of the claim stops."""
        await self.sandboxes.stop_sandbox(self.world.sandbox(claim), BUDGET)


def _plugins(world: World) -> PluginSet:
    base = Context(node_name=POOL, driver_name=DRIVER, state_dir=world.state, cdi_dir=world.cdi_dir)
    return load_descriptors(PLUGINS, SECTIONS, context=contexts(base))
