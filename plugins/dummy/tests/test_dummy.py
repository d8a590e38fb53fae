"""The dummy manager: the contract, and what is its own."""

from __future__ import annotations

import pytest

from dragoman_dummy import Dummy, DummySettings, plugin
from dragoman_hookspecs import InvalidConfig, Match
from dragoman_kit.netlink import Netlink
from dragoman_testkit.bench import Bench, allocate, host_links
from dragoman_testkit.contract import ManagerContract


class TestDummy(ManagerContract):
    """On any kernel: ifb links do what dummy links do here."""

    descriptor = plugin

    def settings(self) -> DummySettings:
        return DummySettings(count=3, link_kind="ifb")

    def test_devices_are_numbered_from_0(self, bench: Bench) -> None:
        assert [device.name for device in bench.scan().devices] == ["dummy0", "dummy1", "dummy2"]

    def test_a_device_shows_its_names_and_answers_the_pool_filters_of_a_dummy(self, bench: Bench) -> None:
        device = bench.scan().devices[1]
        assert device.attributes == {"ifName": "dummy1", "kernelIfName": "dummy1"}
        assert device.filter_values == {"ifNames": "dummy1", "pfNames": Match.ALWAYS}

    def test_the_link_has_the_name_of_the_device(self, bench: Bench) -> None:
        bench.prepare(allocate(bench.scan().devices[1], self.parameters()))
        assert host_links()["dummy1"][1] == "ifb"

    def test_a_device_whose_name_a_foreign_link_has_is_not_offered_until_the_name_is_free(self, bench: Bench) -> None:
        with Netlink() as netlink:
            netlink.add_link("dummy1", "ifb")
            assert [device.name for device in bench.scan().devices] == ["dummy0", "dummy2"]
            link = netlink.link("dummy1")
            assert link is not None
            netlink.set_link(link.index, ifname="other")
        assert [device.name for device in bench.scan().devices] == ["dummy0", "dummy1", "dummy2"]


def test_there_are_no_devices_by_default() -> None:
    assert DummySettings() == DummySettings(count=0, link_kind="dummy")
    assert Dummy.type == plugin.type == "dummy"


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="count: must be 0 or more, not -1"):
        DummySettings(count=-1)
