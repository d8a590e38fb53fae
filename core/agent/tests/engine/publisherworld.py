"""A node that publishes with virtual time, over the real inventory, health and pools, into slices in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from dragoman.engine.advertised import Advertised
from dragoman.engine.health import HealthBoard
from dragoman.engine.inventory import NodeInventory, ScanTimes
from dragoman.engine.publisher import Publisher
from dragoman.model.claims import ClaimRef
from dragoman.model.pools import PoolConfig, PoolFilter
from dragoman.model.publication import Publishing
from dragoman.model.records import AllocationKey, AllocationRow
from dragoman.model.states import AllocationState
from dragoman_hookspecs import Device, Inventory
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.fakes.hooks import FakeHooks, FakeManager
from dragoman_testkit.fakes.slices import MemorySlices

DRIVER = "net.example.org"


def device(name: str, **fields: Any) -> Device:
    return Device(name=name, identity=f"id-{name}", **fields)


def row(held: Device, pool: str | None = None, *, manager: str = "dummy", share: str = "") -> AllocationRow:
    return AllocationRow(
        key=AllocationKey(
            claim_uid=f"c{share}", request="r", driver=DRIVER, pool="n", device=held.name, share_id=share
        ),
        claim=ClaimRef(uid="c", namespace="n", name="c"),
        position=0,
        state=AllocationState.PREPARED,
        manager=manager,
        distribution="dragoman-dummy",
        plugin_version="1",
        device=held,
        logical_pool=pool,
    )


class Node:
    """All that stands between a manager and its slices."""

    def __init__(self, *devices: Device) -> None:
        self.clock = VirtualClock(epoch=1000.0)
        self.manager = FakeManager(health=True, inventory=Inventory(devices=devices or (device("dummy0"),)))
        self.hooks = FakeHooks(self.manager)
        self.rows: Sequence[AllocationRow] = ()
        self.rules = Publishing(node="node-a", driver=DRIVER)
        self.sink = MemorySlices()
        self.uplinks: frozenset[str] = frozenset()
        self.inventory = NodeInventory(
            hooks=self.hooks,
            protected=self.protected,
            rows=lambda: self.rows,
            clock=self.clock,
            times=ScanTimes(interval=60, settle=0.5, first=10),
        )
        self.health = HealthBoard(hooks=self.hooks, inventory=self.inventory, clock=self.clock, driver=DRIVER)
        self.advertised = Advertised(
            hooks=self.hooks,
            inventory=self.inventory,
            health=self.health,
            rows=lambda: self.rows,
            rules=lambda: self.rules,
        )
        self.publisher = Publisher(
            source=self.advertised.publication, sink=self.sink, first=self.inventory.wait_first, clock=self.clock
        )
        self.inventory.on_change(self.publisher.poke)
        self.health.on_change(self.publisher.poke)

    async def protected(self) -> frozenset[str]:
        return self.uplinks

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(part.run()) for part in (self.inventory, self.health, self.publisher)]
        await self.clock.settle()
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def discover(self, *devices: Device) -> None:
        self.manager.inventory = Inventory(devices=devices)
        self.hooks.hint("dummy")
        await self.clock.advance(1)

    async def change(self, **fields: Any) -> None:
        self.rules = replace(self.rules, **fields)
        self.publisher.poke()
        await self.clock.advance(1)

    async def allocate(self, *rows: AllocationRow) -> None:
        self.rows = rows
        self.publisher.poke()
        await self.clock.advance(1)

    def pool_of(self, name: str) -> object:
        return self.sink.devices()[name].attributes.get("pool")


def pool(name: str, **fields: tuple[str, ...]) -> PoolConfig:
    return PoolConfig(name=name, filter=PoolFilter(**fields))
