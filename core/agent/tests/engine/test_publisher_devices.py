"""Which devices are published, in which pool, with what taints, and what the views say of each."""

from __future__ import annotations

from dragoman.model.limits import Server
from dragoman_hookspecs import DeviceError, Health, HealthReport

from .publisherworld import DRIVER, Node, device, pool, row


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
