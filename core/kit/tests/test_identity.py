"""What a link is, from what the kernel shows of it."""

from __future__ import annotations

import pytest

from dragoman_hookspecs import ForeignLink
from dragoman_kit import identity
from dragoman_kit.netlink import LinkInfo

MAC = "02:00:00:00:00:01"
PCI = LinkInfo(index=2, name="eth0", mac=MAC, permanent_mac=MAC, parent_bus="pci", parent_device="0000:03:00.1")
USB = LinkInfo(
    index=3, name="usb0", mac=MAC, permanent_mac="02:00:00:00:00:02", parent_bus="usb", parent_device="1-1:1.0"
)
VETH = LinkInfo(index=4, name="veth0", kind="veth", mac="02:00:00:00:00:03")
MADE = LinkInfo(index=5, name="dummy0", kind="dummy", mac="02:00:00:00:00:04", alias="dragoman:dummy/x")


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (PCI, "pci:0000:03:00.1"),
        (USB, "mac:02:00:00:00:00:02"),
        (VETH, "mac:02:00:00:00:00:03"),
        (MADE, "tag:dummy/x"),
    ],
)
def test_the_best_identity_of_a_link_is_that_links_and_no_others(link: LinkInfo, expected: str) -> None:
    assert identity.identify(link) == expected
    assert [other for other in (PCI, USB, VETH, MADE) if identity.matches(expected, other)] == [link]


def test_the_present_mac_of_hardware_does_not_identify_it() -> None:
    assert not identity.matches(f"mac:{MAC}", USB)
    assert identity.matches("mac:02:00:00:00:00:02", USB)


def test_only_a_link_without_a_permanent_mac_hangs_on_its_present_one() -> None:
    assert identity.hangs_on_mac("mac:02:00:00:00:00:03", VETH)
    assert not identity.hangs_on_mac("mac:02:00:00:00:00:02", USB)
    assert not identity.hangs_on_mac("tag:dummy/x", MADE)


def test_links_stacked_on_hardware_are_not_taken_for_it() -> None:
    vlan = LinkInfo(index=9, name="eth0.5", kind="vlan", mac=MAC)
    assert identity.find([vlan, PCI], f"mac:{MAC}") == PCI


def test_a_forged_tag_does_not_hide_the_link_that_has_the_known_mac() -> None:
    forged = LinkInfo(index=8, name="evil", kind="veth", mac="02:00:00:00:00:66", alias=MADE.alias)
    assert identity.find([forged, MADE], "tag:dummy/x", MADE.mac) == MADE
    with pytest.raises(ForeignLink, match="evil, dummy0"):
        identity.find([forged, MADE], "tag:dummy/x")


def test_an_alias_that_only_begins_like_a_tag_of_ours_is_another_identity() -> None:
    assert not identity.matches("tag:dummy", MADE)
    assert identity.tag_of(VETH) is None
