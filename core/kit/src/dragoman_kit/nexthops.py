"""Routes that only name a nexthop object, as the kernel shows them with ``net.ipv4.nexthop_compat_mode=0``."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping, Sequence

from dragoman_kit.rtnl import Rtnl
from dragoman_kit.wire import NEXTHOP, Entry, entry_of

_RTM_GETNEXTHOP = 106
_MEMBER = struct.Struct("=IBBH")
"""nexthop.h, ``struct nexthop_grp``: id, weight less one, and what is not read here."""


def expanded(netlink: Rtnl, routes: Sequence[Entry]) -> list[Entry]:
    """Give the routes with the links and gateways of the nexthops that they name; the others as they are."""
    if all("nh_id" not in route or "oif" in route or "multipath" in route for route in routes):
        return list(routes)
    nexthops = {
        entry["id"]: entry
        for entry in (entry_of(NEXTHOP, message) for message in netlink.dump(NEXTHOP, _RTM_GETNEXTHOP, {}))
    }
    return [route if "oif" in route or "multipath" in route else route | _hops(nexthops, route) for route in routes]


def _hops(nexthops: Mapping[int, Entry], route: Entry) -> Entry:
    nexthop = nexthops.get(route.get("nh_id", 0), {})
    if "group" not in nexthop:
        return _hop(nexthop, route)
    members = [(nexthops.get(id_, {}), weight) for id_, weight, *_ in _MEMBER.iter_unpack(_bytes(nexthop["group"]))]
    return {"multipath": [_multihop(_hop(member, route), weight) for member, weight in members if "oif" in member]}


def _multihop(hop: Entry, weight: int) -> Entry:
    attributes = [[f"RTA_{key.upper()}", value] for key, value in hop.items() if key != "oif"]
    return {"oif": hop["oif"], "hops": weight, "flags": 0, "attrs": attributes}


def _hop(nexthop: Entry, route: Entry) -> Entry:
    hop = {"oif": nexthop["oif"]} if "oif" in nexthop else {}
    if "gateway" not in nexthop:
        return hop
    gateway = str(ipaddress.ip_address(_bytes(nexthop["gateway"])))
    if nexthop["family"] == route["family"]:
        return hop | {"gateway": gateway}
    return hop | {"via": {"family": nexthop["family"], "addr": gateway}}


def _bytes(value: str) -> bytes:
    return bytes.fromhex(value.replace(":", ""))
