"""Publishing with virtual time, over the real inventory, health and pools, into slices in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from loguru import logger

from dragoman.engine.advertised import Advertised
from dragoman.engine.health import HealthBoard
from dragoman.engine.inventory import NodeInventory, ScanTimes
from dragoman.engine.publisher import Publisher
from dragoman.model.claims import ClaimRef
from dragoman.model.errors import Refused, Unavailable
from dragoman.model.limits import Server
from dragoman.model.pools import PoolConfig, PoolFilter
from dragoman.model.publication import Publishing
from dragoman.model.records import AllocationKey, AllocationRow
from dragoman.model.states import AllocationState
from dragoman_hookspecs import Device, DeviceError, Health, HealthReport, Inventory
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


@pytest.fixture
def said() -> Iterator[list[str]]:
    messages: list[str] = []
    sink = logger.add(lambda message: messages.append(message.record["message"]), level="WARNING")
    yield messages
    logger.remove(sink)


def pool(name: str, **fields: tuple[str, ...]) -> PoolConfig:
    return PoolConfig(name=name, filter=PoolFilter(**fields))


async def test_the_first_complete_inventory_is_published() -> None:
    node = Node(device("dummy0"), device("dummy1"))
    async with node.running():
        assert list(node.sink.devices()) == ["dummy0", "dummy1"]
        assert node.sink.pools[0].name == "node-a"
        state = node.publisher.state
        assert (state.published_at, state.devices, state.slices, state.error) == (1000.0, 2, 1, "")


async def test_nothing_is_published_before_every_manager_was_scanned_but_not_for_ever() -> None:
    node = Node()
    node.hooks.fail("discover_devices", DeviceError("not yet"), times=100)
    async with node.running():
        await node.clock.advance(9)
        assert node.sink.attempts == 0
        assert node.publisher.state.published_at is None
        await node.clock.advance(2)
        assert node.sink.devices() == {}
        assert node.sink.attempts == 1


async def test_a_change_of_the_devices_is_published_and_no_change_is_not() -> None:
    node = Node()
    async with node.running():
        await node.discover(device("dummy0"), device("dummy1"))
        assert list(node.sink.devices()) == ["dummy0", "dummy1"]
        await node.discover(device("dummy1"), device("dummy0"))
        node.publisher.poke()
        await node.clock.advance(600)
        assert node.sink.attempts == 2


async def test_a_failed_scan_withdraws_nothing() -> None:
    node = Node(device("dummy0"))
    async with node.running():
        node.hooks.fail("discover_devices", DeviceError("dump was interrupted"), times=50)
        await node.clock.advance(600)
        assert node.sink.attempts == 1
        assert list(node.sink.devices()) == ["dummy0"]


async def test_an_unavailable_server_is_tried_again_ever_more_slowly_with_the_latest_pool() -> None:
    node = Node()
    node.sink.errors = [Unavailable("connection refused") for _ in range(3)]
    async with node.running():
        assert node.publisher.state.error == "connection refused"
        await node.discover(device("dummy7"))
        assert node.sink.attempts == 2
        await node.clock.advance(5)
        assert node.sink.attempts == 3
        await node.clock.advance(1)
        assert list(node.sink.devices()) == ["dummy7"]
        assert len(node.sink.pools) == 1
        assert node.publisher.state.error == ""


async def test_a_pool_is_published_again_when_what_followed_it_may_have_been_written_in_part() -> None:
    node = Node(device("dummy0"))
    async with node.running():
        node.sink.errors = [Unavailable("connection reset")]
        await node.discover(device("dummy1"))
        await node.discover(device("dummy0"))
        await node.clock.advance(1)
        assert [list(spec.devices) for pool in node.sink.pools for spec in pool.slices] == [
            [device("dummy0", attributes={"deviceManager": "dummy"})]
        ] * 2


async def test_pauses_after_failures_do_not_grow_without_limit() -> None:
    node = Node()
    node.sink.errors = [Unavailable("no route") for _ in range(12)]
    async with node.running():
        await node.clock.advance(1 + 2 + 4 + 8 + 16 + 32 + 60 * 6)
        assert len(node.sink.pools) == 1


async def test_the_pause_after_failures_ends_when_the_server_is_said_to_be_back() -> None:
    node = Node()
    node.sink.errors = [Unavailable("no route") for _ in range(7)]
    async with node.running():
        await node.clock.advance(1 + 2 + 4 + 8 + 16 + 32)
        assert (node.sink.attempts, node.publisher.state.error) == (7, "no route")
        node.publisher.again()
        await node.clock.settle()
        assert (len(node.sink.pools), node.publisher.state.error) == (1, "")


async def test_changes_during_a_slow_publication_end_in_the_latest_pool_only() -> None:
    node = Node()
    node.sink.gate.clear()
    async with node.running():
        for number in range(1, 5):
            await node.discover(device(f"dummy{number}"))
        assert node.sink.attempts == 1
        node.sink.gate.set()
        await node.clock.advance(1)
        assert [[d.name for spec in pool.slices for d in spec.devices] for pool in node.sink.pools] == [
            ["dummy0"],
            ["dummy4"],
        ]


async def test_a_refused_pool_waits_for_a_change(said: list[str]) -> None:
    node = Node()
    node.sink.errors = [Refused("422: devices[0].name")]
    async with node.running():
        node.publisher.poke()
        await node.clock.advance(600)
        assert node.sink.attempts == 1
        assert "422: devices[0].name" in node.publisher.state.error
        assert len([message for message in said if "422" in message]) == 1
        await node.discover(device("dummy1"))
        assert list(node.sink.devices()) == ["dummy1"]
        assert node.publisher.state.error == ""


async def test_a_pool_is_published_again_when_a_refused_one_is_taken_back() -> None:
    node = Node(device("dummy0"))
    async with node.running():
        node.sink.errors = [Refused("422")]
        await node.discover(device("dummy1"))
        await node.discover(device("dummy0"))
        assert node.sink.attempts == 3
        assert node.publisher.state.error == ""


async def test_where_the_server_refuses_list_attributes_the_devices_are_published_without_them() -> None:
    node = Node(device("dummy0", attributes={"numa": (0, 1), "mtu": 1500}))
    node.sink.errors = [Refused("422: attributes[numa]: must specify one of")]
    async with node.running():
        assert node.sink.devices()["dummy0"].attributes == {"deviceManager": "dummy", "mtu": 1500}
        assert node.publisher.state.error == ""
        assert any("attribute numa" in warning for warning in node.publisher.state.warnings)
        await node.discover(device("dummy1", attributes={"numa": (1,)}))
        assert node.sink.attempts == 3


async def test_a_refusal_that_list_attributes_did_not_cause_is_shown_and_they_are_tried_again_later() -> None:
    node = Node(device("dummy0", attributes={"numa": (0, 1)}))
    node.sink.errors = [Refused("422"), Refused("422")]
    async with node.running():
        assert "422" in node.publisher.state.error
        await node.discover(device("dummy1", attributes={"numa": (1,)}))
        assert node.sink.devices()["dummy1"].attributes["numa"] == (1,)


async def test_fields_that_the_server_dropped_are_told_once_and_shown_while_true(said: list[str]) -> None:
    node = Node()
    node.sink.warnings = ("device dummy0: taints were dropped",)
    async with node.running():
        for number in range(3):
            await node.discover(device("dummy0"), device(f"more{number}"))
        assert said.count("device dummy0: taints were dropped") == 1
        assert node.publisher.state.warnings == ("device dummy0: taints were dropped",)
        node.sink.warnings = ()
        await node.discover(device("dummy0"))
        assert not node.publisher.state.warnings


async def test_a_device_of_several_pools_is_told_once_however_often_it_is_published(said: list[str]) -> None:
    node = Node()
    async with node.running():
        await node.change(pools=[pool("b"), pool("a")])
        for number in range(3):
            await node.discover(device("dummy0"), device(f"more{number}"))
        assert len([message for message in said if "dummy0: pool: it matches several pools: a, b" in message]) == 1
        assert node.pool_of("dummy0") == "a"


async def test_an_allocation_pins_the_pool_until_the_last_one_is_gone() -> None:
    node = Node(device("dummy0", filter_values={"ifNames": "dummy0"}))
    async with node.running():
        await node.change(pools=[pool("slow", if_names=("dummy0",))])
        await node.allocate(row(device("dummy0"), "slow"))
        await node.change(pools=[pool("fast")])
        assert node.pool_of("dummy0") == "slow"
        await node.allocate()
        assert node.pool_of("dummy0") == "fast"


async def test_conflicting_pins_withdraw_the_device_and_are_told_once(said: list[str]) -> None:
    nic = device("nic", allow_multiple_allocations=True)
    node = Node(nic, device("dummy0"))
    async with node.running():
        await node.allocate(row(nic, "a", share="s1"), row(nic, "b", share="s2"))
        assert list(node.sink.devices()) == ["dummy0"]
        await node.discover(nic, device("dummy1"))
        assert len([message for message in said if "different pools: a, b" in message]) == 1


async def test_preparing_a_claim_changes_nothing_that_is_published() -> None:
    node = Node(device("dummy0"))
    async with node.running():
        await node.allocate(row(device("dummy0")))
        await node.discover()
        assert node.sink.attempts == 1
        await node.allocate()
        assert node.sink.devices() == {}


async def test_an_unhealthy_device_is_tainted_while_it_is_unhealthy() -> None:
    node = Node(device("dummy0"), device("dummy1"))
    async with node.running():
        node.hooks.report("dummy", HealthReport(device="dummy0", health=Health.UNHEALTHY, timeout=600))
        await node.clock.advance(1)
        taints = {name: [t.key for t in item.taints] for name, item in node.sink.devices().items()}
        assert taints == {"dummy0": [f"{DRIVER}/unhealthy"], "dummy1": []}
        node.hooks.report("dummy", HealthReport(device="dummy0", health=Health.HEALTHY, timeout=600))
        await node.clock.advance(60)
        assert node.sink.devices()["dummy0"].taints == ()


async def test_an_uplink_of_a_default_route_is_not_published_and_the_views_say_why() -> None:
    node = Node(device("eth0", link="eth0"), device("eth1", link="eth1"))
    node.uplinks = frozenset({"eth0"})
    async with node.running():
        assert list(node.sink.devices()) == ["eth1"]
        assert node.advertised.find("eth0") is None
        reasons = {view.device.name: view.refusal for view in node.advertised.views()}
        assert reasons["eth1"] == ""
        assert "default route" in reasons["eth0"]


async def test_stopping_withdraws_nothing() -> None:
    node = Node()
    async with node.running():
        assert node.sink.attempts == 1
    await node.clock.advance(600)
    assert node.sink.attempts == 1


async def test_the_views_show_manager_pool_health_and_degradation_of_every_device() -> None:
    node = Node(device("dummy0"), device("Bad_Name"))
    async with node.running():
        await node.change(pools=[pool("a")])
        node.hooks.report("dummy", HealthReport(device="dummy0", health=Health.UNHEALTHY, message="no carrier"))
        node.hooks.fail("discover_devices", DeviceError("no netlink"))
        node.hooks.hint("dummy")
        await node.clock.advance(0.6)
        bad, good = node.advertised.views()
        assert (good.manager, good.pool, good.refusal) == ("dummy", "a", "")
        assert (good.health, good.message, good.degraded) == (Health.UNHEALTHY, "no carrier", "no netlink")
        assert "DNS label" in bad.refusal


async def test_a_device_is_found_for_prepare_as_it_is_published_without_what_core_adds() -> None:
    node = Node(device("dummy0", attributes={"model": "x" * 70, "mtu": 1500}))
    async with node.running():
        await node.change(pools=[pool("a")])
        node.hooks.report("dummy", HealthReport(device="dummy0", health=Health.UNHEALTHY))
        found = node.advertised.find("dummy0")
        assert found is not None
        assert found.device == device("dummy0", attributes={"model": "x" * 64, "mtu": 1500})
        assert (found.kind.type, found.distribution, found.logical_pool) == ("dummy", "dragoman-dummy", "a")
        assert node.advertised.find("other") is None


async def test_a_device_that_no_pool_wants_any_more_is_still_found_for_the_pod_that_was_given_it() -> None:
    node = Node()
    async with node.running():
        await node.change(pools=[pool("a", if_names=("eth0",))])
        assert node.sink.devices() == {}
        found = node.advertised.find("dummy0")
        assert found is not None
        assert found.logical_pool is None


async def test_a_device_that_the_api_would_not_take_is_not_found() -> None:
    node = Node(device("nic", allow_multiple_allocations=True))
    async with node.running():
        assert node.advertised.find("nic") is not None
        await node.change(server=Server(minor=33))
        assert node.advertised.find("nic") is None
