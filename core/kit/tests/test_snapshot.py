"""What is remembered of hardware, which has a permanent MAC; no virtual link of a test kernel has one."""

from __future__ import annotations

import pytest

from dragoman_hookspecs import Link
from dragoman_kit.linkinfo import LinkInfo
from dragoman_kit.snapshot import remnant, shown

LINK = Link(name="eth0", identity="pci:0000:03:00.1")
PERMANENT, PRESENT = "02:00:00:00:00:01", "02:00:00:00:00:99"
NIC = LinkInfo(
    index=2, name="eth0", mac=PRESENT, permanent_mac=PERMANENT, parent_bus="pci", parent_device="0000:03:00.1"
)


@pytest.mark.parametrize(
    ("master", "mac"),
    [
        (None, PRESENT),
        (LinkInfo(index=9, name="br0", kind="bridge"), PRESENT),
        (LinkInfo(index=9, name="bond0", kind="bond", mac=PRESENT), PERMANENT),
    ],
)
def test_the_mac_that_comes_back_is_the_one_that_hardware_had_on_the_host(master: LinkInfo | None, mac: str) -> None:
    former = shown(LINK, NIC, master)
    assert (former["mac"], former["master"]) == (mac, master.name if master else None)


def test_hardware_that_is_found_in_a_pod_gets_its_permanent_mac_as_no_other_is_known() -> None:
    assert remnant(LINK, NIC)["mac"] == PERMANENT
