"""The pure rules for names and values, against what the kernel and the API say of them."""

from __future__ import annotations

import pytest

from dragoman_hookspecs import rules


@pytest.mark.parametrize("name", ["eth0", "eth0.100", "a", "net-1_b@x", "x" * 15])
def test_names_that_the_kernel_takes(name: str) -> None:
    assert rules.interface_name(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "x" * 16, "ü" * 8, "a/b", "/", ".", "..", "a b", "a\tb", "a\n", "eth:0", "eth%d", "all", "default", "lo", "é"],
)
def test_names_that_the_kernel_or_the_sysctl_tree_would_not_take(name: str) -> None:
    assert rules.interface_name(name) is not None


@pytest.mark.parametrize("leaf", ["", "..", "a/b", "conf.eth0", "arp filter", "arp_filter\n", "ARP"])
def test_a_sysctl_leaf_is_one_plain_component(leaf: str) -> None:
    assert rules.sysctl_leaf("arp_filter") is None
    assert rules.sysctl_leaf(leaf) is not None


@pytest.mark.parametrize("value", ["", "1\n0", "\x00"])
def test_a_sysctl_value_is_one_line(value: str) -> None:
    assert rules.sysctl_value("4096 131072 6291456") is None
    assert rules.sysctl_value(value) is not None


@pytest.mark.parametrize(
    "address", ["", "02:00:00:00:00", "01:00:5e:00:00:01", "00:00:00:00:00:00", "02-00-00-00-00-01"]
)
def test_a_mac_address_is_unicast_with_colons(address: str) -> None:
    assert rules.mac_address("02:00:00:00:00:01") is None
    assert rules.mac_address(address) is not None


def test_vlan_and_mtu_have_their_bounds() -> None:
    assert [rules.vlan_id(number) is None for number in (-1, 0, 4094, 4095)] == [False, True, True, False]
    assert [rules.mtu(size) is None for size in (67, 68, 65536, 65537)] == [False, True, True, False]


@pytest.mark.parametrize(
    "text", ["192.0.2.1", "192.0.2.1/33", "192.0.2/24", "fe80::1%eth0/64", "2001:db8::1/129", "x/1"]
)
def test_an_address_has_a_prefix_length_and_no_zone(text: str) -> None:
    assert rules.interface_address("192.0.2.1/24") is None
    assert rules.interface_address("2001:db8::1/64") is None
    assert rules.interface_address(text) is not None


def test_a_destination_is_default_or_a_network() -> None:
    assert rules.route_destination("default") is None
    assert rules.route_destination("192.0.2.0/24") is None
    assert "192.0.2.0/24" in (rules.route_destination("192.0.2.1/24") or "")
    assert rules.route_destination("192.0.2.0") is not None


@pytest.mark.parametrize("label", ["", "-a", "a-", "A", "a.b", "a" * 64, "a\n"])
def test_a_dns_label_has_no_dots_or_capitals(label: str) -> None:
    assert rules.dns_label("a" * 63) is None
    assert rules.dns_label(label) is not None
