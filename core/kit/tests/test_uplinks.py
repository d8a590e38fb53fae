"""Which links carry the node."""

from __future__ import annotations

import socket

import pytest

from dragoman_kit.netlink import Netlink
from dragoman_kit.uplinks import protected_links

pytestmark = pytest.mark.kernel

BOOT, RA = 3, 9
IPV4, IPV6 = 2, 10
UNICAST, UNREACHABLE = 1, 7


def add(host: Netlink, name: str, kind: str = "ifb", **options: object) -> int:
    host.add_link(name, kind, **options)
    index = socket.if_nametoindex(name)
    host.set_link(index, up=True)
    return index


def default(host: Netlink, family: int, index: int, table: int = 254, proto: int = BOOT) -> None:
    host.add_route({"family": family, "type": UNICAST, "proto": proto, "scope": 253, "table": table, "oif": index})


def test_without_a_default_route_no_link_is_protected(host: Netlink) -> None:
    add(host, "eth0")
    assert protected_links() == frozenset()


def test_uplinks_of_every_table_and_family_and_origin_are_protected(host: Netlink) -> None:
    default(host, IPV4, add(host, "main0"))
    default(host, IPV4, add(host, "table0"), table=100)
    default(host, IPV6, add(host, "ra0"), proto=RA)
    default(host, IPV6, add(host, "six0"), table=70000)
    add(host, "free0")
    assert protected_links() == {"main0", "table0", "ra0", "six0"}


def test_every_hop_of_a_multipath_default_route_is_protected(host: Netlink) -> None:
    hops = [{"oif": add(host, name), "hops": 0, "flags": 0, "attrs": []} for name in ("a0", "b0")]
    host.add_route({"family": IPV4, "type": UNICAST, "proto": BOOT, "table": 254, "multipath": hops})
    assert protected_links() == {"a0", "b0"}


def test_what_an_uplink_is_made_of_is_protected_all_the_way_down(host: Netlink) -> None:
    bridge = add(host, "br0", "bridge")
    add(host, "wire0", "veth", peer="wire1")
    host.set_link(socket.if_nametoindex("wire0"), master=bridge)
    add(host, "port0", master=bridge)
    upper = add(host, "mv0", "macvlan", link=bridge)
    add(host, "child0", "macvlan", link=add(host, "other0"))
    default(host, IPV4, upper)
    assert protected_links() == {"mv0", "br0", "port0", "wire0", "wire1"}


def test_what_stands_on_an_uplink_is_free(host: Netlink) -> None:
    uplink = add(host, "eth0")
    add(host, "mv0", "macvlan", link=uplink)
    default(host, IPV4, uplink)
    assert protected_links() == {"eth0"}


def test_a_default_route_that_leads_nowhere_protects_nothing(host: Netlink) -> None:
    host.add_route({"family": IPV4, "type": UNREACHABLE, "proto": BOOT, "table": 254})
    host.add_route({"family": IPV6, "type": UNREACHABLE, "proto": BOOT, "table": 254, "oif": 1})
    assert protected_links() == frozenset()
