"""Sysctls of one interface, written below any /proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_hookspecs import DeviceError
from dragoman_kit import sysctl


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    folder = tmp_path / "proc/sys/net/ipv4/conf/eth0.5"
    folder.mkdir(parents=True)
    (folder / "arp_filter").write_text("0\n")
    (folder.parent / "secret").write_text("0\n")
    return tmp_path / "proc"


def test_a_name_with_dots_is_one_folder(proc: Path) -> None:
    sysctl.write(proc, "ipv4", "eth0.5", {"arp_filter": "1"})
    assert (proc / "sys/net/ipv4/conf/eth0.5/arp_filter").read_text().startswith("1")


@pytest.mark.parametrize(
    ("interface", "leaf", "value"),
    [
        ("eth0.5", "../secret", "1"),
        ("eth0.5", "..", "1"),
        ("..", "secret", "1"),
        ("all", "arp_filter", "1"),
        ("eth0.5", "arp_filter", "1\n1"),
    ],
)
def test_no_name_leaves_the_folder_of_the_interface(proc: Path, interface: str, leaf: str, value: str) -> None:
    with pytest.raises(DeviceError, match="is not written"):
        sysctl.write(proc, "ipv4", interface, {leaf: value})
    assert (proc / "sys/net/ipv4/conf/secret").read_text() == "0\n"


def test_a_sysctl_that_does_not_exist_is_not_created(proc: Path) -> None:
    with pytest.raises(DeviceError, match=r"net\.ipv4\.conf\.eth0\.5\.no_such does not exist"):
        sysctl.write(proc, "ipv4", "eth0.5", {"no_such": "1"})
    assert not (proc / "sys/net/ipv4/conf/eth0.5/no_such").exists()


def test_what_differs_from_the_default_and_can_be_written_back_is_remembered(proc: Path) -> None:
    conf = proc / "sys/net/ipv4/conf"
    (conf / "default").mkdir()
    for leaf, own, default in (("arp_filter", "1", "0"), ("rp_filter", "2", "2"), ("mc_forwarding", "1", "0")):
        (conf / "eth0.5" / leaf).write_text(f"{own}\n")
        (conf / "default" / leaf).write_text(f"{default}\n")
    # The kernel sets it where a multicast router runs, and lets nobody else.
    (conf / "eth0.5/mc_forwarding").chmod(0o444)
    assert sysctl.differing(proc, "eth0.5") == {"ipv4": {"arp_filter": "1"}, "ipv6": {}}
