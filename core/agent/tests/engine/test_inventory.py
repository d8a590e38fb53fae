"""Scans with virtual time: what stands, what changes, who is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from loguru import logger

from dragoman.engine.inventory import NodeInventory, ScanTimes
from dragoman.model.claims import ClaimRef
from dragoman.model.records import AllocationKey, AllocationRow
from dragoman.model.states import AllocationState
from dragoman_hookspecs import Device, DeviceError, Inventory
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.fakes.hooks import FakeHooks, FakeManager

TIMES = ScanTimes(interval=60, settle=0.5, first=10)


def listing(*names: str, **fields: Any) -> Inventory:
    return Inventory(devices=tuple(Device(name=name, identity=f"id-{name}", **fields) for name in names))


def row(device: Device, manager: str = "dummy") -> AllocationRow:
    return AllocationRow(
        key=AllocationKey(claim_uid="c", request="r", driver="d", pool="n", device=device.name),
        claim=ClaimRef(uid="c", namespace="n", name="c"),
        position=0,
        state=AllocationState.PREPARED,
        manager=manager,
        distribution="x",
        plugin_version="1",
        device=device,
    )


class MemoryLists:
    def __init__(self, **lists: Inventory) -> None:
        self.lists = dict(lists)

    def load(self, manager: str) -> Inventory | None:
        return self.lists.get(manager)

    def save(self, manager: str, listing: Inventory) -> None:
        self.lists[manager] = listing


class Node:
    """An inventory with everything around it, and a count of the changes that it told."""

    def __init__(self, *managers: FakeManager, last: MemoryLists | None = None) -> None:
        self.clock = VirtualClock(epoch=1000.0)
        self.hooks = FakeHooks(*(managers or (FakeManager(inventory=listing("dummy0")),)))
        self.protected: frozenset[str] | Exception = frozenset()
        self.rows: Sequence[AllocationRow] = ()
        self.changes = 0
        self.inventory = NodeInventory(
            hooks=self.hooks,
            protected=self.read_protected,
            rows=lambda: self.rows,
            clock=self.clock,
            times=TIMES,
            last=last,
        )
        self.inventory.on_change(self.count)

    def count(self) -> None:
        self.changes += 1

    async def read_protected(self) -> frozenset[str]:
        if isinstance(self.protected, Exception):
            raise self.protected
        return self.protected

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.inventory.run())
        await self.clock.settle()
        yield
        task.cancel()
        await asyncio.wait([task])

    def names(self) -> list[str]:
        return list(self.inventory.stock().owners())

    def scans(self) -> int:
        return len(self.hooks.called("discover_devices"))


@pytest.fixture
def said() -> Any:
    messages: list[str] = []
    sink = logger.add(lambda message: messages.append(message.record["message"]), level="WARNING")
    yield messages
    logger.remove(sink)


async def first_is_over(node: Node) -> bool:
    task = asyncio.create_task(node.inventory.wait_first())
    await node.clock.settle()
    over = task.done()
    task.cancel()
    return over


async def test_every_manager_is_scanned_at_start_and_then_by_the_timer() -> None:
    node = Node(FakeManager(type="a", inventory=listing("x")), FakeManager(type="b", inventory=listing("y")))
    async with node.running():
        assert node.names() == ["x", "y"]
        assert await first_is_over(node)
        node.hooks.fakes["a"].inventory = listing("x", "z")
        await node.clock.advance(59)
        assert node.names() == ["x", "y"]
        await node.clock.advance(1)
        assert node.names() == ["x", "y", "z"]


async def test_hints_in_a_row_are_one_scan_after_they_have_settled() -> None:
    node = Node()
    async with node.running():
        node.hooks.fakes["dummy"].inventory = listing("dummy0", "dummy1")
        for _ in range(5):
            node.hooks.hint("dummy")
            await node.clock.advance(0.05)
        assert node.scans() == 1
        await node.clock.advance(0.3)
        assert (node.scans(), node.names()) == (2, ["dummy0", "dummy1"])
        await node.clock.advance(10)
        assert node.scans() == 2


async def test_a_hint_during_a_scan_brings_another_scan() -> None:
    node = Node()
    async with node.running():
        gate = node.hooks.hold("discover_devices")
        node.hooks.hint("dummy")
        await node.clock.advance(1)
        assert node.scans() == 2
        node.hooks.hint("dummy")
        gate.set()
        await node.clock.advance(1)
        assert node.scans() == 3


async def test_a_hint_of_a_manager_that_is_not_followed_is_ignored() -> None:
    node = Node()
    async with node.running():
        node.hooks.hint("unknown")
        await node.clock.advance(1)
        assert node.scans() == 1


async def test_a_failed_scan_withdraws_nothing_and_marks_the_manager_with_the_reason_and_since_when() -> None:
    node = Node()
    async with node.running():
        node.hooks.fail("discover_devices", DeviceError("dump was interrupted"), times=2)
        await node.clock.advance(60)
        assert node.names() == ["dummy0"]
        mark = node.inventory.degraded()["dummy"]
        assert (mark.reason, mark.since) == ("dump was interrupted", 1060.0)
        await node.clock.advance(1)
        assert node.inventory.degraded()["dummy"].since == 1060.0
        await node.clock.advance(2)
        assert node.inventory.degraded() == {}


async def test_a_manager_that_keeps_failing_is_asked_ever_more_slowly_and_no_later_than_by_the_timer() -> None:
    node = Node()
    node.hooks.fail("discover_devices", DeviceError("no"), times=1000)
    async with node.running():
        await node.clock.advance(1 + 2 + 4 + 8 + 16 + 32)
        assert node.scans() == 7
        await node.clock.advance(60)
        assert node.scans() == 8


async def test_a_reason_is_logged_once_however_often_the_scan_fails(said: list[str]) -> None:
    node = Node()
    node.hooks.fail("discover_devices", DeviceError("no netlink"), times=5)
    async with node.running():
        await node.clock.advance(8)
    assert [message for message in said if "no netlink" in message] == [
        "manager dummy could not be scanned, its last list of 0 devices stands: no netlink"
    ]


async def test_a_manager_that_hangs_delays_no_other() -> None:
    node = Node(FakeManager(type="hangs"), FakeManager(type="works", inventory=listing("w")))
    node.hooks.hold("discover_devices", manager="hangs")
    async with node.running():
        assert node.names() == ["w"]
        assert not await first_is_over(node)
        await node.clock.advance(10)
        assert await first_is_over(node)


async def test_the_first_scan_is_waited_for_while_it_fails_but_not_for_ever() -> None:
    node = Node()
    node.hooks.fail("discover_devices", DeviceError("not yet"), times=2)
    async with node.running():
        assert not await first_is_over(node)
        await node.clock.advance(3)
        assert await first_is_over(node)


async def test_without_managers_the_first_scan_is_over_at_once() -> None:
    node = Node(FakeManager(enabled=False))
    async with node.running():
        assert await first_is_over(node)
        assert node.scans() == 0


async def test_the_last_list_of_the_former_life_stands_until_the_first_scan_succeeds() -> None:
    last = MemoryLists(dummy=listing("dummy0", "dummy1"))
    node = Node(last=last)
    node.hooks.fail("discover_devices", DeviceError("sysfs is not mounted"))
    async with node.running():
        assert node.names() == ["dummy0", "dummy1"]
        assert node.inventory.degraded()["dummy"].reason == "sysfs is not mounted"
        await node.clock.advance(1)
        assert node.names() == ["dummy0"]
    assert last.lists["dummy"] == listing("dummy0")


async def test_only_changes_are_told() -> None:
    node = Node()
    async with node.running():
        assert node.changes == 1
        await node.clock.advance(600)
        assert node.changes == 1
        node.hooks.fakes["dummy"].inventory = listing()
        await node.clock.advance(60)
        assert node.changes == 2


async def test_an_uplink_appears_in_the_protected_links_and_its_device_is_withheld_with_the_next_scan() -> None:
    node = Node(FakeManager(inventory=listing("eth0", link="eth0")))
    async with node.running():
        assert node.names() == ["eth0"]
        node.protected = frozenset({"eth0"})
        await node.clock.advance(60)
        assert node.names() == []
        assert node.changes == 2


@pytest.mark.parametrize("known_before", [True, False])
async def test_when_the_uplinks_cannot_be_read_the_last_ones_stand_and_unknown_ones_withhold(
    known_before: bool, said: list[str]
) -> None:
    devices = tuple(Device(name=name, identity=name, link=name) for name in ("eth0", "eth1"))
    node = Node(FakeManager(inventory=Inventory(devices=devices)))
    node.protected = frozenset({"eth0"}) if known_before else OSError("netlink")
    async with node.running():
        node.protected = OSError("netlink")
        await node.clock.advance(180)
        assert node.names() == (["eth1"] if known_before else [])
    assert len([message for message in said if "netlink" in message]) == 1


async def test_a_manager_that_is_disabled_loses_its_list_and_keeps_what_is_allocated() -> None:
    node = Node(FakeManager(inventory=listing("dummy0", "dummy1")))
    async with node.running():
        node.rows = [row(Device(name="dummy1", identity="id-dummy1"))]
        node.hooks.fakes["dummy"].enabled = False
        node.inventory.managers_changed()
        await node.clock.settle()
        assert node.names() == ["dummy1"]
        await node.clock.advance(120)
        assert node.scans() == 1


async def test_a_device_that_came_back_from_a_pod_is_found_before_its_manager_has_seen_it_again() -> None:
    node = Node(FakeManager(inventory=listing("nic0", "nic1")))
    async with node.running():
        node.rows = [row(Device(name="nic0", identity="id-nic0"))]
        node.hooks.fakes["dummy"].inventory = listing("nic1")  # inside a pod a link is out of its manager's sight
        await node.clock.advance(60)
        node.inventory.returned(node.rows)
        node.rows = []
        assert node.inventory.owner("nic0") == "dummy"
        assert node.names() == ["nic1"]
        node.hooks.fail("discover_devices", DeviceError("no netlink"))
        await node.clock.advance(60)
        assert node.inventory.owner("nic0") == "dummy"
        await node.clock.advance(60)
        assert node.inventory.owner("nic0") is None


async def test_what_a_manager_lists_of_a_device_that_came_back_counts_more_than_what_is_remembered() -> None:
    node = Node(FakeManager(inventory=listing("nic0", link="nic0")))
    async with node.running():
        node.inventory.returned([row(Device(name="nic0", identity="id-nic0", link="nic0"))])
        node.protected = frozenset({"nic0"})
        await node.clock.advance(60)
        node.inventory.returned([row(Device(name="nic0", identity="id-nic0", link="nic0"))])
        assert node.inventory.owner("nic0") is None


async def test_a_device_that_came_back_is_found_only_while_its_manager_is_enabled() -> None:
    node = Node(FakeManager(inventory=listing()))
    back = [row(Device(name="nic0", identity="id-nic0"))]
    async with node.running():
        node.inventory.returned(back)
        assert node.inventory.owner("nic0") == "dummy"
        node.hooks.fakes["dummy"].enabled = False
        node.inventory.managers_changed()
        await node.clock.settle()
        assert node.inventory.owner("nic0") is None
        node.inventory.returned(back)
        assert node.inventory.owner("nic0") is None


async def test_a_manager_that_is_enabled_later_is_scanned_at_once() -> None:
    node = Node(FakeManager(enabled=False, inventory=listing("dummy0")))
    async with node.running():
        node.hooks.fakes["dummy"].enabled = True
        node.inventory.managers_changed()
        await node.clock.settle()
        assert node.names() == ["dummy0"]
        assert node.inventory.owner("dummy0") == "dummy"
        assert node.inventory.owner("other") is None


async def test_managers_that_have_other_settings_are_scanned_soon() -> None:
    node = Node(FakeManager(inventory=listing("dummy0")))
    async with node.running():
        node.hooks.fakes["dummy"].inventory = listing("dummy0", "dummy1")
        node.inventory.managers_changed()
        await node.clock.advance(1)
        assert node.names() == ["dummy0", "dummy1"]


async def test_links_that_come_and_go_during_scans_never_leave_a_partial_list() -> None:
    node = Node(FakeManager(inventory=listing(*(f"d{number}" for number in range(20)))))
    seen: list[int] = []
    node.inventory.on_change(lambda: seen.append(len(node.names())))
    async with node.running():
        for round_ in range(10):
            node.hooks.fail("discover_devices", DeviceError("NLM_F_DUMP_INTR"), times=round_ % 2)
            node.hooks.hint("dummy")
            await node.clock.advance(1)
    assert set(seen) == {20}


async def test_a_list_that_cannot_be_used_is_a_failed_scan() -> None:
    node = Node()
    async with node.running():
        node.hooks.fakes["dummy"].inventory = Inventory(devices=(cast("Any", "dummy0"),))
        await node.clock.advance(60)
        assert node.names() == ["dummy0"]
        assert "'dummy0' is not a device" in node.inventory.degraded()["dummy"].reason


async def test_a_change_of_what_the_manager_handed_out_is_found_by_the_next_scan_and_not_before() -> None:
    attributes = {"speed": 10}
    node = Node(FakeManager(inventory=listing("dummy0", attributes=attributes)))
    async with node.running():
        attributes["speed"] = 25
        assert [item.device.attributes for item in node.inventory.stock().devices] == [{"speed": 10}]
        before = node.changes
        await node.clock.advance(TIMES.interval)
        assert [item.device.attributes for item in node.inventory.stock().devices] == [{"speed": 25}]
        assert node.changes == before + 1


async def test_a_fault_of_the_program_in_a_scan_is_told_and_the_next_scan_comes(said: list[str]) -> None:
    node = Node()
    node.hooks.fail("discover_devices", RuntimeError("a fault"))
    async with node.running():
        assert "a fault" in node.inventory.degraded()["dummy"].reason
        await node.clock.advance(TIMES.interval)
        assert (node.names(), dict(node.inventory.degraded())) == (["dummy0"], {})
    assert any("a fault" in message for message in said)
