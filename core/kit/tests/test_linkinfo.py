"""Links as the kernel shows them, read as pyroute2 reads them."""

from __future__ import annotations

import socket

import pytest

from dragoman_kit import netns, wire
from dragoman_kit.linkinfo import parse_link
from dragoman_kit.netlink import Netlink
from dragoman_testkit.netns import Pod

pytestmark = pytest.mark.kernel

RTM_GETLINK = 18


def test_links_are_read_as_pyroute2_reads_them(host: Netlink) -> None:
    host.add_link("br0", "bridge")
    bridge = socket.if_nametoindex("br0")
    host.add_link("port0", "veth", peer="port1", address="02:00:00:00:00:05", mtu=1400)
    port = socket.if_nametoindex("port0")
    host.set_link(port, master=bridge, up=True, ifalias="dragoman:x/y")
    host.add_link("mv0", "macvlan", link=bridge)
    host.add_altname(bridge, "backbone")
    host.add_altname(bridge, "uplink")

    for message in host.dump(wire.LINK, RTM_GETLINK, {"family": 0}):
        read = parse_link(message)
        decoded = wire.decode(wire.LINK, message)
        assert read.index == decoded["index"]
        assert read.up == bool(decoded["flags"] & 1)
        assert [read.name, read.alias or None, read.mtu, read.mac, read.lower, read.master] == [
            decoded.get(key) for key in ("ifname", "ifalias", "mtu", "address", "link", "master")
        ]
        assert read.kind == decoded.get(("linkinfo", "kind"))
    links = {link.name: link for link in host.links()}
    assert links["br0"].altnames == ("backbone", "uplink")
    assert links["port0"].alias == "dragoman:x/y"
    assert links["mv0"].lower == bridge


def test_a_link_whose_other_end_is_in_another_namespace_stands_on_nothing_here(host: Netlink, pod: Pod) -> None:
    host.add_link("v0", "veth", peer="v1")
    with netns.opened(pod.netns) as handle:
        host.set_link(socket.if_nametoindex("v1"), net_ns_fd=handle)
    link = host.link("v0")
    assert link is not None
    assert link.lower is None
