"""The host side of a link as a JSON object: what has to come back when the link does."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman_hookspecs import HostPaths, JsonObject, Link
from dragoman_kit import identity, sysctl
from dragoman_kit.configure import step
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_kit.wire import Entry

_SNAPSHOT_VERSION = 1

# rtnetlink(7): who made a route, and what kind of route it is.
_PROTO_REDIRECT, _PROTO_KERNEL, _PROTO_RA = 1, 2, 9
_TYPE_UNICAST = 1
_FLAG_CLONED = 0x200
_TICKS_PER_SECOND = 100
_STANDING_TABLES = frozenset({253, 254, 255})

# if_addr.h: IFA_PROTO of addresses that the kernel makes itself (loopback, router advertisement, link-local).
_ADDRESS_OF_KERNEL = frozenset({1, 2, 3})
_IFA_F_TEMPORARY = 0x01
_NUD_PERMANENT = 0x80
_AF_INET6 = 10


def snapshot(link: Link, *, host: HostPaths | None = None) -> JsonObject:
    """Read the host side of a link in the calling thread's namespace.

    The object has ``version``, ``name``, ``ifindex``, ``identity``, ``kind`` (None for hardware), ``alias``, ``up``,
    ``mtu``, ``mac``, ``master`` (a name or None), ``flags``, ``group``, ``queue_length``, ``altnames``, ``sysctls`` by
    family, and the lists ``addresses``, ``routes``, ``rules`` and ``neighbours``, whose items are entries of
    ``dragoman_kit.wire``. What the kernel makes by itself is left out: it will do so again.

    Raises ``LinkMissing``, ``ForeignLink``, or ``DeviceError`` when the kernel could not be asked.
    """
    with step(f"read link {link.name} on the host"), Netlink() as netlink:
        found = identity.require(netlink, link.identity, link.name)
        # The kernel takes all routes from a link that goes down, and allows no new ones.
        routes = _routes(netlink, found) if found.up else []
        return shown(link, found, _master(netlink, found)) | {
            "sysctls": _sysctls(found, host or HostPaths()),
            "addresses": [entry for entry in netlink.addresses(found.index) if _is_own_address(entry)],
            "routes": routes,
            "rules": _rules(netlink, found, routes),
            "neighbours": [entry for entry in netlink.neighbours(found.index) if entry["state"] & _NUD_PERMANENT],
        }


def shown(link: Link, found: LinkInfo, master: LinkInfo | None) -> JsonObject:
    """Give what a link on the host tells of its host side, without what is asked of the kernel about it."""
    # A port of these wears their MAC, and gets its own back from the kernel when it leaves.
    is_disguised = master is not None and master.kind in ("bond", "team")
    return remnant(link, found) | {
        "name": found.name,
        "up": found.up,
        "mac": (is_disguised and found.permanent_mac) or found.mac,
        "master": master.name if master else None,
        "flags": found.flags,
        "group": found.group,
        "queue_length": found.queue_length,
        "altnames": list(found.altnames),
    }


def remnant(link: Link, found: LinkInfo) -> JsonObject:
    """Give what a link that is elsewhere still tells of its host side: the snapshot of one that had no more than that.

    It is down on the host, as the kernel leaves a link that changes its namespace.
    """
    return {
        "version": _SNAPSHOT_VERSION,
        "name": link.name,
        "ifindex": found.index,
        "identity": link.identity,
        "kind": found.kind,
        "alias": found.alias,
        "up": False,
        "mtu": found.mtu,
        "mac": found.permanent_mac or found.mac,
        "master": None,
        "sysctls": {},
        "addresses": [],
        "routes": [],
        "rules": [],
        "neighbours": [],
    }


def _sysctls(link: LinkInfo, host: HostPaths) -> dict[str, dict[str, str]]:
    # A link that Dragoman made has no settings of anybody's, and is deleted in the end.
    return {} if identity.tag_of(link) is not None else sysctl.differing(host.proc, link.name)


def _routes(netlink: Netlink, link: LinkInfo) -> list[Entry]:
    kernel = {_PROTO_REDIRECT, _PROTO_KERNEL, _PROTO_RA}
    return [
        {key: value for key, value in entry.items() if key not in ("cacheinfo", "nh_id")} | _end(entry)
        for entry in netlink.routes(link.index)
        if entry["proto"] not in kernel and not entry["flags"] & _FLAG_CLONED
    ]


def _end(entry: Entry) -> Entry:
    ticks = entry["cacheinfo"]["rta_expires"] if "cacheinfo" in entry else 0
    return {"expires": max(1, ticks // _TICKS_PER_SECOND)} if ticks > 0 else {}


def _rules(netlink: Netlink, link: LinkInfo, routes: Iterable[Entry]) -> list[Entry]:
    """Rules that name the link, and those that lead to a table which only this link makes useful."""
    tables = {entry["table"] for entry in routes} - _STANDING_TABLES
    own = {number for number in tables if not any(_over_another(entry, link) for entry in netlink.table(number))}
    return [
        entry
        for entry in netlink.rules()
        if link.name in (entry.get("iifname"), entry.get("oifname")) or entry["table"] in own
    ]


def _over_another(entry: Entry, link: LinkInfo) -> bool:
    hops = entry.get("multipath") or [entry]
    return entry["type"] == _TYPE_UNICAST and any(hop.get("oif") != link.index for hop in hops)


def _is_own_address(entry: Entry) -> bool:
    if entry.get("proto") in _ADDRESS_OF_KERNEL:
        return False
    return not (entry["family"] == _AF_INET6 and entry["flags"] & _IFA_F_TEMPORARY)


def _master(netlink: Netlink, link: LinkInfo) -> LinkInfo | None:
    if link.master is None:
        return None
    return next((other for other in netlink.links() if other.index == link.master), None)
