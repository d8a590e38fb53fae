"""Health with virtual time: what the kubelet hears, when, and what is tainted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from dragoman.engine.health import HealthBoard, HealthTimes
from dragoman.engine.inventory import NodeInventory, ScanTimes
from dragoman.model.claims import ClaimRef
from dragoman.model.records import AllocationKey, AllocationRow
from dragoman.model.states import AllocationState
from dragoman_hookspecs import Device, DeviceError, DragomanError, Health, HealthReport, Inventory, Taint
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.fakes.hooks import FakeHooks, FakeManager

HEALTHY, UNHEALTHY, UNKNOWN = Health.HEALTHY, Health.UNHEALTHY, Health.UNKNOWN
TAINT = Taint(key="net.example.org/unhealthy", value="true", effect="NoSchedule")


class Node:
    """Two managers: ``nic`` watches health of ``nic0`` and ``nic1``, ``dummy`` has ``dummy0`` and watches nothing."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        nics = tuple(Device(name=name, identity=name) for name in ("nic0", "nic1"))
        self.hooks = FakeHooks(
            FakeManager(type="dummy", inventory=Inventory(devices=(Device(name="dummy0", identity="dummy0"),))),
            FakeManager(type="nic", health=True, inventory=Inventory(devices=nics)),
        )
        self.rows: Sequence[AllocationRow] = ()
        self.inventory = NodeInventory(
            hooks=self.hooks,
            protected=self.protected,
            rows=lambda: self.rows,
            clock=self.clock,
            times=ScanTimes(interval=60),
        )
        self.board = HealthBoard(
            hooks=self.hooks,
            inventory=self.inventory,
            clock=self.clock,
            driver="net.example.org",
            times=HealthTimes(settle=10, lease=120),
            last=self,
        )
        self.kept: Sequence[tuple[str, HealthReport]] = ()
        self.full = False

    def load(self) -> Sequence[tuple[str, HealthReport]]:
        return self.kept

    def save(self, reports: Sequence[tuple[str, HealthReport]]) -> None:
        if self.full:
            raise DragomanError("the disk is full")
        self.kept = reports

    async def protected(self) -> frozenset[str]:
        return frozenset()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self.inventory.run()), asyncio.create_task(self.board.run())]
        await self.clock.settle()
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def report(self, health: Health, *, device: str = "nic0", message: str = "", lease: float = 30) -> None:
        self.hooks.report("nic", HealthReport(device=device, health=health, message=message, timeout=lease))
        await self.clock.settle()

    def health(self, device: str = "nic0") -> Health:
        return {report.device: report.health for report in self.board.reports()}[device]

    def message(self, device: str = "nic0") -> str:
        return {report.device: report.message for report in self.board.reports()}[device]


class Watcher:
    """A kubelet's stream: everything that it was sent, with the time."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.heard: list[tuple[float, dict[str, Health]]] = []
        self.leases: list[dict[str, float]] = []
        self.task = asyncio.create_task(self.listen())

    async def listen(self) -> None:
        async for reports in self.node.board.watch():
            self.heard.append((self.node.clock.monotonic(), {report.device: report.health for report in reports}))
            self.leases.append({report.device: report.timeout for report in reports})

    @property
    def times(self) -> list[float]:
        return [time for time, _ in self.heard]


@pytest.fixture
def node() -> Node:
    return Node()


async def test_a_full_disk_costs_only_what_is_kept_over_a_restart(node: Node) -> None:
    node.full = True
    async with node.running():
        await node.report(UNHEALTHY)
        watcher = Watcher(node)
        await node.clock.settle()
        await node.report(UNHEALTHY, device="nic1")
        assert watcher.heard[-1][1]["nic1"] is UNHEALTHY
        watcher.task.cancel()
        node.full = False
        await node.report(UNKNOWN, device="nic1")
        assert [report.device for _, report in node.kept] == ["nic0"]


async def test_a_device_is_unknown_until_its_manager_reports_it(node: Node) -> None:
    async with node.running():
        assert node.health() is UNKNOWN
        assert node.message() == "the health watch of manager nic has not reported it yet"
        await node.report(HEALTHY)
        assert (node.health(), node.health("nic1")) == (HEALTHY, UNKNOWN)


async def test_bad_news_pass_at_once_and_good_news_after_they_have_stood(node: Node) -> None:
    async with node.running():
        await node.report(HEALTHY)
        await node.report(UNHEALTHY, message="link down")
        assert (node.health(), node.message()) == (UNHEALTHY, "link down")
        await node.report(HEALTHY)
        assert node.health() is UNHEALTHY
        await node.clock.advance(9.9)
        assert node.health() is UNHEALTHY
        await node.clock.advance(0.1)
        assert node.health() is HEALTHY


async def test_a_device_that_flaps_stays_unhealthy_and_is_told_once(node: Node) -> None:
    async with node.running():
        await node.report(HEALTHY)
        watcher = Watcher(node)
        await node.clock.settle()
        for _ in range(6):
            await node.report(UNHEALTHY)
            await node.clock.advance(1)
            await node.report(HEALTHY)
            await node.clock.advance(1)
        told = [heard["nic0"] for _, heard in watcher.heard]
        assert told[0] is HEALTHY
        assert set(told[1:]) == {UNHEALTHY}
        watcher.task.cancel()


async def test_repeated_good_news_do_not_push_their_passing_away(node: Node) -> None:
    async with node.running():
        await node.report(UNHEALTHY)
        for _ in range(10):
            await node.report(HEALTHY)
            await node.clock.advance(1)
        assert node.health() is HEALTHY


async def test_a_report_that_grew_older_than_its_time_out_is_unknown_with_a_message(node: Node) -> None:
    async with node.running():
        await node.report(HEALTHY, lease=45)
        watcher = Watcher(node)
        await node.clock.advance(44.9)
        assert node.health() is HEALTHY
        await node.clock.advance(0.1)
        assert (node.health(), node.message()) == (UNKNOWN, "manager nic has not reported its health for 45 s")
        assert watcher.heard[-1] == (45.0, {"dummy0": HEALTHY, "nic0": UNKNOWN, "nic1": UNKNOWN})
        watcher.task.cancel()


async def test_an_unhealthy_report_expires_too_and_its_taint_with_it(node: Node) -> None:
    async with node.running():
        await node.report(UNHEALTHY)
        assert node.board.taints() == {"nic0": TAINT}
        await node.clock.advance(30)
        assert node.health() is UNKNOWN
        assert node.board.taints() == {}
        await node.report(HEALTHY)
        assert node.health() is HEALTHY


async def test_a_failed_watch_makes_all_devices_of_the_manager_unknown_and_of_no_other(node: Node) -> None:
    async with node.running():
        await node.report(HEALTHY)
        node.hooks.health_failed("nic")
        await node.clock.settle()
        assert [node.health(name) for name in ("dummy0", "nic0", "nic1")] == [HEALTHY, UNKNOWN, UNKNOWN]
        assert node.message() == "the health watch of manager nic has failed"
        await node.report(HEALTHY)
        assert node.health() is HEALTHY


async def test_a_manager_without_a_watch_vouches_by_scanning(node: Node) -> None:
    async with node.running():
        assert node.health("dummy0") is HEALTHY
        node.hooks.fail("discover_devices", DeviceError("no netlink"), times=2)  # one for each manager
        await node.clock.advance(60)
        assert node.health("dummy0") is UNKNOWN
        assert node.message("dummy0") == "manager dummy cannot be scanned: no netlink"
        await node.clock.advance(1)
        assert node.health("dummy0") is HEALTHY


async def test_a_device_inside_a_pod_that_nobody_looks_at_is_unknown(node: Node) -> None:
    device = Device(name="dummy9", identity="dummy9")
    node.rows = [
        AllocationRow(
            key=AllocationKey(claim_uid="c", request="r", driver="d", pool="n", device="dummy9"),
            claim=ClaimRef(uid="c", namespace="n", name="c"),
            position=0,
            state=AllocationState.PREPARED,
            manager="dummy",
            distribution="x",
            plugin_version="1",
            device=device,
        )
    ]
    async with node.running():
        assert node.health("dummy9") is UNKNOWN
        assert node.message("dummy9") == "it is inside a pod, where manager dummy does not see it"


async def test_a_report_for_a_device_of_another_manager_does_not_count(node: Node) -> None:
    async with node.running():
        await node.report(UNHEALTHY, device="dummy0")
        assert node.health("dummy0") is HEALTHY
        assert node.board.taints() == {}


async def test_the_first_list_is_complete_and_comes_at_once(node: Node) -> None:
    async with node.running():
        watcher = Watcher(node)
        await node.clock.settle()
        assert watcher.heard == [(0.0, {"dummy0": HEALTHY, "nic0": UNKNOWN, "nic1": UNKNOWN})]
        watcher.task.cancel()


@pytest.mark.parametrize(("lease", "third"), [(30.0, 10.0), (6.0, 2.0)])
async def test_the_list_is_sent_again_within_a_third_of_the_shortest_time_out(
    node: Node, lease: float, third: float
) -> None:
    async with node.running():
        await node.report(HEALTHY, lease=lease)
        await node.report(HEALTHY, device="nic1", lease=90)
        watcher = Watcher(node)
        await node.clock.advance(third * 2)
        assert watcher.times == [0.0, third, third * 2]
        watcher.task.cancel()


async def test_a_change_is_sent_at_once_to_every_stream(node: Node) -> None:
    async with node.running():
        await node.report(HEALTHY)
        watchers = [Watcher(node), Watcher(node)]
        await node.clock.advance(5)
        await node.report(UNHEALTHY)
        for watcher in watchers:
            assert watcher.heard[-1] == (5.0, {"dummy0": HEALTHY, "nic0": UNHEALTHY, "nic1": UNKNOWN})
            watcher.task.cancel()


async def test_another_message_alone_waits_for_the_next_time(node: Node) -> None:
    async with node.running():
        await node.report(UNHEALTHY, message="down for 1 s")
        watcher = Watcher(node)
        await node.clock.advance(1)
        await node.report(UNHEALTHY, message="down for 2 s")
        assert watcher.times == [0.0]
        watcher.task.cancel()


async def test_a_time_out_of_nothing_is_the_kubelets_default(node: Node) -> None:
    async with node.running():
        await node.report(HEALTHY, lease=0)
        await node.clock.advance(29)
        assert node.health() is HEALTHY
        await node.clock.advance(1)
        assert node.health() is UNKNOWN


async def test_a_new_device_is_told_when_the_scan_finds_it(node: Node) -> None:
    async with node.running():
        watcher = Watcher(node)
        await node.clock.settle()
        node.hooks.fakes["dummy"].inventory = Inventory(devices=(Device(name="dummy1", identity="dummy1"),))
        node.hooks.hint("dummy")
        await node.clock.advance(1)
        assert watcher.heard[-1][1] == {"dummy1": HEALTHY, "nic0": UNKNOWN, "nic1": UNKNOWN}
        watcher.task.cancel()


async def test_an_expired_report_of_a_device_that_does_not_exist_is_forgotten(node: Node) -> None:
    async with node.running():
        await node.report(UNHEALTHY, device="ghost", lease=5)
        await node.clock.advance(5)
        assert [report.device for report in node.board.reports()] == ["dummy0", "nic0", "nic1"]
        node.hooks.fakes["nic"].inventory = Inventory(devices=(Device(name="ghost", identity="ghost"),))
        node.hooks.hint("nic")
        await node.clock.advance(1)
        # A report that is still known would be told as one that is too old.
        assert (node.health("ghost"), node.message("ghost")) == (
            UNKNOWN,
            "the health watch of manager nic has not reported it yet",
        )


async def test_a_device_stays_unhealthy_over_a_restart_until_its_manager_reports(node: Node) -> None:
    async with node.running():
        await node.report(HEALTHY, device="nic1")
        await node.report(UNHEALTHY, message="link down")
    after = Node()
    after.kept = node.kept
    async with after.running():
        assert (after.health(), after.message(), after.health("nic1")) == (UNHEALTHY, "link down", UNKNOWN)
        await after.clock.advance(29)
        assert after.board.taints() == {"nic0": TAINT}
        await after.clock.advance(1)
        assert (after.health(), after.kept) == (UNKNOWN, [])
    again = Node()
    again.kept = node.kept
    async with again.running():
        await again.report(HEALTHY)
        await again.clock.advance(10)
        assert (again.health(), again.kept) == (HEALTHY, [])


async def test_a_device_that_is_touched_is_told_at_once_with_another_time_out_and_the_same_health(node: Node) -> None:
    async with node.running():
        await node.report(HEALTHY, lease=30)
        watcher = Watcher(node)
        await node.clock.settle()
        for _ in range(2):
            node.board.touch(["nic0"])
            await node.clock.settle()
        watcher.task.cancel()
        first = watcher.leases[0]
        assert watcher.leases == [first, first | {"nic0": 31}, first]
        assert node.health() is HEALTHY
