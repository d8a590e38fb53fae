"""Give a link its addresses, routes, rules and neighbours, from entries that were read or made before."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
from collections.abc import Iterable, Iterator

from dragoman_hookspecs import DeviceError, Route
from dragoman_kit.netlink import Netlink
from dragoman_kit.wire import Entry

_AF_INET, _AF_INET6 = 2, 10
_IFA_F_NODAD, _IFA_F_DEPRECATED = 0x02, 0x20
# Flags that the kernel works out: secondary, DAD failed, deprecated, tentative, permanent, stable privacy.
_IFA_F_COMPUTED = 0x01 | 0x08 | _IFA_F_DEPRECATED | 0x40 | 0x80 | 0x800
_FOREVER = 0xFFFFFFFF
_TABLE_MAIN, _PROTO_STATIC, _TYPE_UNICAST, _SCOPE_LINK = 254, 4, 1, 253
_RTNH_F_ONLINK = 0x4
_RULE_DETACHED = 0x8 | 0x10
_IPV6_METRIC = 1024
_CAPABILITIES = "this takes the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN on the host"


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Turn the kernel's refusal into a sentence: ``cannot <what>: <its reason>``."""
    try:
        yield
    except OSError as error:
        needed = f" ({_CAPABILITIES})" if error.errno == errno.EPERM else ""
        raise DeviceError(f"cannot {what}: {error.strerror or error}{needed}") from error


def address_entry(address: str) -> Entry:
    """Make the entry of an address in CIDR form."""
    interface = ipaddress.ip_interface(address)
    family = _AF_INET if interface.version == 4 else _AF_INET6
    prefix = interface.network.prefixlen
    ip = str(interface.ip)
    return {"family": family, "prefixlen": prefix, "local": ip, "address": ip, "flags": 0, "scope": 0}


def route_entry(route: Route) -> Entry:
    """Make the entry of a route of the parameters; ``default`` takes the family of its gateway or source."""
    if route.destination == "default":
        hint = ipaddress.ip_address(route.gateway or route.source or "0.0.0.0")  # noqa: S104 - no address is bound
        destination = ipaddress.ip_network("0.0.0.0/0" if hint.version == 4 else "::/0")
    else:
        destination = ipaddress.ip_network(route.destination)
    entry: Entry = {
        "family": _AF_INET if destination.version == 4 else _AF_INET6,
        "dst_len": destination.prefixlen,
        "table": _TABLE_MAIN if route.table is None else route.table,
        "proto": _PROTO_STATIC,
        "type": _TYPE_UNICAST,
        "scope": _SCOPE_LINK if destination.version == 4 and route.gateway is None else 0,
    }
    if destination.prefixlen:
        entry["dst"] = str(destination.network_address)
    optional = {"gateway": route.gateway, "prefsrc": route.source, "priority": route.metric}
    return entry | {key: value for key, value in optional.items() if value is not None}


def add_address(netlink: Netlink, index: int, entry: Entry, *, detect_duplicates: bool) -> None:
    """Add an address; one that is there already is success.

    An IPv6 address works at once: a route that names a tentative address as its source would be refused, and nothing
    may wait for the network here. With ``detect_duplicates`` it keeps the flags that it had, for later.
    """
    flags = entry["flags"] & ~_IFA_F_COMPUTED
    wanted = {key: value for key, value in entry.items() if key not in ("proto", "cacheinfo")} | {"index": index}
    if life := _life(entry):
        wanted["cacheinfo"] = life
    with contextlib.suppress(FileExistsError):
        netlink.add_address(wanted | {"flags": flags | (_IFA_F_NODAD if entry["family"] == _AF_INET6 else 0)})
        if entry["family"] == _AF_INET6 and detect_duplicates and not flags & _IFA_F_NODAD:
            netlink.add_address(wanted | {"flags": flags}, replace=True)


def _life(entry: Entry) -> Entry | None:
    """Give the life of an address that ends or is deprecated. Of IPv4 the kernel tells the latter by the flag only."""
    life: Entry | None = entry.get("cacheinfo")
    if life is None:
        return None
    preferred = 0 if entry["flags"] & _IFA_F_DEPRECATED else life["ifa_preferred"]
    return None if preferred == life["ifa_valid"] == _FOREVER else life | {"ifa_preferred": preferred}


def in_order(routes: Iterable[Entry]) -> list[Entry]:
    """Sort routes so that a gateway is reachable when its route is added: on-link ones first, else as given."""
    return sorted(routes, key=lambda entry: any(key in entry for key in ("gateway", "via", "multipath")))


def add_route(netlink: Netlink, index: int, entry: Entry, former_index: int | None = None) -> None:
    """Add a route over the link; the same route, made by the kernel or by an earlier attempt, is success.

    Raises ``FileExistsError`` when another route has its destination, table and metric.
    """
    wanted = _over(entry, index, former_index)
    try:
        netlink.add_route(wanted)
    except FileExistsError:
        if not any(_same_route(wanted, other) for other in netlink.routes(index)):
            raise


def add_rule(netlink: Netlink, entry: Entry) -> None:
    """Add a policy rule; one that is there already is success."""
    with contextlib.suppress(FileExistsError):
        netlink.add_rule(entry | {"flags": entry["flags"] & ~_RULE_DETACHED})


def add_neighbour(netlink: Netlink, index: int, entry: Entry) -> None:
    """Add a permanent neighbour."""
    wanted = {key: value for key, value in entry.items() if key not in ("probes", "cacheinfo")}
    netlink.add_neighbour(wanted | {"ifindex": index})


def describe_route(entry: Entry) -> str:
    """Name a route in a sentence."""
    where = f"{entry['dst']}/{entry['dst_len']}" if "dst" in entry else "default"
    gateway = f" via {entry['gateway']}" if "gateway" in entry else ""
    return f"{where}{gateway} (table {entry['table']})"


def _over(entry: Entry, index: int, former_index: int | None) -> Entry:
    wanted = entry | {"flags": entry.get("flags", 0) & _RTNH_F_ONLINK}
    if "multipath" not in entry:
        return wanted | {"oif": index}
    hops = [
        hop | {"oif": index if hop["oif"] == former_index else hop["oif"], "flags": hop["flags"] & _RTNH_F_ONLINK}
        for hop in entry["multipath"]
    ]
    return {key: value for key, value in wanted.items() if key != "oif"} | {"multipath": hops}


def _same_route(wanted: Entry, other: Entry) -> bool:
    keys = ("family", "dst", "dst_len", "table", "tos", "gateway", "via")
    metric = _IPV6_METRIC if wanted["family"] == _AF_INET6 else 0
    return all(wanted.get(key, 0) == other.get(key, 0) for key in keys) and (
        wanted.get("priority") or metric
    ) == other.get("priority", 0)
