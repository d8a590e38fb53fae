"""Which host links carry the node: the uplinks of default routes, and everything that these are made of."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_kit.wire import Entry

_TYPE_UNICAST = 1


def protected_links() -> frozenset[str]:
    """Give the names of the links that must not go into a pod, in the calling thread's namespace.

    Default routes of all tables and both families count, however they were learnt. A link is made of the ports of it
    (bond, bridge, team, VRF) and of what it is stacked on (VLAN, macvlan; the other end of a veth pair), and so on.
    Raises ``OSError`` or ``DumpInterrupted``: no answer is not an empty one.
    """
    with Netlink() as netlink:
        links = netlink.links()
        uplinks = {index for entry in netlink.default_routes() for index in _outgoing(entry)}
    return frozenset(link.name for link in links if link.index in _with_lower(uplinks, links))


def _outgoing(entry: Entry) -> set[int]:
    hops = entry.get("multipath") or [entry]
    return {hop["oif"] for hop in hops if hop.get("oif")} if entry["type"] == _TYPE_UNICAST else set()


def _with_lower(uplinks: Iterable[int], links: Iterable[LinkInfo]) -> set[int]:
    below: dict[int, set[int]] = {}
    for link in links:
        if link.master is not None:
            below.setdefault(link.master, set()).add(link.index)
        if link.lower is not None:
            below.setdefault(link.index, set()).add(link.lower)
    found: set[int] = set()
    todo = list(uplinks)
    while todo:
        index = todo.pop()
        if index not in found:
            found.add(index)
            todo += below.get(index, ())
    return found
