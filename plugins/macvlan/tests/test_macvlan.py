"""The macvlan manager: the contract for devices and for shares, and what is its own."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from dragoman_hookspecs import Capacity, DeviceError, InvalidConfig, Match, RequestPolicy
from dragoman_hookspecs.rules import dns_label, interface_name
from dragoman_kit import wire
from dragoman_kit.netlink import Netlink
from dragoman_macvlan import plugin
from dragoman_macvlan.settings import Iface, MacvlanSettings
from dragoman_testkit.bench import Bench, allocate, host_links
from dragoman_testkit.contract import ManagerContract
from dragoman_testkit.netns import Pod

MODES = {"private": 1, "vepa": 2, "bridge": 4, "passthru": 8, "source": 16}


def parent(netlink: Netlink, name: str) -> None:
    netlink.add_link(name, "veth", peer=f"{name[:12]}-p")
    netlink.set_link(socket.if_nametoindex(name), up=True)


class TestMacvlan(ManagerContract):
    descriptor = plugin

    def settings(self) -> MacvlanSettings:
        return MacvlanSettings(ifaces=(Iface(parent_if_name="eth1", count=2),))

    def prepare_host(self, netlink: Netlink) -> None:
        parent(netlink, "eth1")

    def test_a_device_shows_its_names_parent_and_mode_and_answers_the_pool_filters(self, bench: Bench) -> None:
        device = bench.scan().devices[1]
        assert device.name == "eth1-mv1"
        assert device.attributes == {
            "ifName": "eth1-mv1",
            "kernelIfName": "eth1-mv1",
            "parentIfName": "eth1",
            "mode": "bridge",
        }
        assert device.filter_values == {
            "ifNames": frozenset({"eth1-mv1"}),
            "pfNames": Match.ALWAYS,
            "parentIfNames": "eth1",
        }
        assert not device.allow_multiple_allocations

    def test_a_parent_that_goes_away_makes_setup_say_so(self, bench: Bench) -> None:
        allocation = allocate(bench.scan().devices[0], self.parameters())
        with Netlink() as netlink:
            netlink.delete_link(socket.if_nametoindex("eth1"))
        with pytest.raises(DeviceError, match="device eth1-mv0 cannot be set up: its parent eth1 is missing"):
            bench.prepare(allocation)

    def test_an_mtu_above_that_of_the_parent_is_refused_before_anything_is_made(self, bench: Bench) -> None:
        device = bench.scan().devices[0]
        before = host_links()
        with pytest.raises(DeviceError, match="cannot have an MTU of 9000: that of its parent eth1 is 1500"):
            bench.plan(allocate(device, replace(self.parameters(), mtu=9000)))
        assert host_links() == before
        assert bench.plan(allocate(device, replace(self.parameters(), mtu=1500)))["name"] == "eth1-mv0"

    def test_the_default_name_in_the_pod_is_the_one_on_the_host(self, bench: Bench, pod: Pod) -> None:
        device = bench.scan().devices[0]
        record = bench.prepare(allocate(device, replace(self.parameters(), pod_if_name=None)))
        attached = bench.attach(record, pod.netns).attached
        assert attached is not None
        assert attached.interface == "eth1-mv0"


class TestSharedMacvlan(ManagerContract):
    descriptor = plugin

    def settings(self) -> MacvlanSettings:
        return MacvlanSettings(ifaces=(Iface(parent_if_name="eth1", count=2, shared=True),))

    def prepare_host(self, netlink: Netlink) -> None:
        parent(netlink, "eth1")

    def test_a_shared_parent_is_one_device_with_the_capacity_of_its_links(self, bench: Bench) -> None:
        (device,) = bench.scan().devices
        assert device.name == "eth1-mv"
        assert device.allow_multiple_allocations
        assert device.capacity == {"links": Capacity(value="2", policy=RequestPolicy(default="1", valid_values=("1",)))}
        assert "kernelIfName" not in device.attributes

    def test_each_share_is_read_by_its_id_also_when_the_device_is_no_longer_shared(self, bench: Bench) -> None:
        first, second = self.two(bench)
        unshared = replace(first.allocation.device, allow_multiple_allocations=False)
        bench.free(replace(first, allocation=replace(first.allocation, device=unshared)))
        assert first.prepared is not None
        assert second.prepared is not None
        assert str(first.plan["name"]) not in host_links()
        assert str(second.plan["name"]) in host_links()


@pytest.mark.kernel
class TestSeveralParents(ManagerContract):
    descriptor = plugin

    def settings(self) -> MacvlanSettings:
        names = {"missing0": "bridge", **{f"p-{mode}": mode for mode in MODES}, "enp129s0f1np1.5": "bridge"}
        return MacvlanSettings(ifaces=tuple(Iface(parent_if_name=name, mode=mode) for name, mode in names.items()))  # type: ignore[arg-type]  # the modes are those of the literal

    def prepare_host(self, netlink: Netlink) -> None:
        for name in (*(f"p-{mode}" for mode in MODES), "enp129s0f1np1.5"):
            parent(netlink, name)

    def test_a_missing_parent_costs_its_own_devices_only(self, bench: Bench) -> None:
        parents = {device.attributes["parentIfName"] for device in bench.scan().devices}
        assert parents == {*(f"p-{mode}" for mode in MODES), "enp129s0f1np1.5"}

    def test_each_link_has_the_mode_of_its_parent(self, bench: Bench) -> None:
        for device in bench.scan().devices:
            record = bench.prepare(allocate(device, self.parameters()))
            with Netlink() as netlink:
                reply = netlink.request(wire.LINK, 18, {"family": 0, "ifname": record.plan["name"]})[0]
            data = wire.decode(wire.LINK, reply).get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA")
            assert data.get_attr("IFLA_MACVLAN_MODE") == device.attributes["mode"]

    def test_names_of_long_parents_fit_the_kernel_and_the_api_and_stay_different(self, bench: Bench) -> None:
        device = bench.scan().devices[-1]
        assert device.attributes["parentIfName"] == "enp129s0f1np1.5"
        assert interface_name(str(device.attributes["kernelIfName"])) is None
        assert dns_label(device.name) is None
        assert device.name.startswith("enp129s0f1np1-5-")
        assert device.name.endswith("-mv0")


@pytest.mark.parametrize(
    ("iface", "path"),
    [
        ({"parent_if_name": "a/b"}, "parentIfName"),
        ({"parent_if_name": "eth0", "count": -1}, "count"),
        ({"parent_if_name": "eth0", "count": 2, "mode": "passthru"}, "count"),
        ({"parent_if_name": "eth0", "count": 2, "mode": "passthru", "shared": True}, "count"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_their_path(iface: dict[str, object], path: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        Iface(**iface)  # type: ignore[arg-type]  # values of a table
    assert [fault.path for fault in refused.value.faults] == [path]


def test_a_parent_stands_once() -> None:
    twice = (Iface(parent_if_name="eth0"), Iface(parent_if_name="eth0", mode="vepa"))
    with pytest.raises(InvalidConfig, match=r"ifaces\[1\].parentIfName: eth0 stands twice"):
        MacvlanSettings(ifaces=twice)
