"""What the kernel says of a network namespace, in the words of a person: links, addresses, routes, sysctls."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dragoman_kit import netns
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_kit.wire import Entry

_SCOPE_LINK = 253
_MAIN_TABLE, _KERNEL_PROTOCOL = 254, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """A link. ``addresses`` are CIDRs without link-local ones, ``routes`` as ``ip route`` writes them."""

    name: str
    kind: str
    up: bool
    mtu: int
    mac: str
    addresses: Sequence[str] = ()
    routes: Sequence[str] = ()

    def lines(self) -> list[str]:
        """Give it in aligned lines."""
        state = "up" if self.up else "down"
        head = f"{self.name:<14} {self.kind:<8} {state:<5} {self.mac}  mtu {self.mtu:<6} {' '.join(self.addresses)}"
        return [head.rstrip(), *(f"{'':<14} route {route}" for route in self.routes)]


def links(path: Path | None = None) -> list[LinkView]:
    """List the links of the namespace at ``path``, or of this process; one that goes meanwhile is left out."""
    with _netlink(path) as netlink:
        return [view for link in netlink.links() if (view := _view(netlink, link))]


def sysctl(path: Path, family: str, interface: str, leaf: str) -> str:
    """Read ``net.<family>.conf.<interface>.<leaf>`` of the namespace at ``path``."""
    with netns.opened(str(path)) as handle, netns.entered(handle):
        return Path(f"/proc/sys/net/{family}/conf/{interface}/{leaf}").read_text().strip()


def furnish(uplinks: Sequence[str]) -> str:
    """Make veth pairs to be the uplinks of this namespace; give the kind of link that can stand for ``dummy``.

    Raises ``OSError`` where the kernel has no veth links, or nothing that can be a dummy link.
    """
    with Netlink() as netlink:
        for name in uplinks:
            netlink.add_link(name, "veth", peer=f"{name}-wire")
            for end in (name, f"{name}-wire"):
                link = netlink.link(end)
                assert link is not None, f"the kernel made no link {end}"
                netlink.set_link(link.index, up=True)
        # Of the kinds that need no parent, few may move to another namespace: a bridge may not.
        return next(kind for kind in ("dummy", "ifb", "veth") if _is_known(netlink, kind))


def _view(netlink: Netlink, link: LinkInfo) -> LinkView | None:
    try:
        addresses, routes = netlink.addresses(link.index), netlink.routes(link.index)
    except OSError as error:
        if error.errno == errno.ENODEV:
            return None
        raise
    return LinkView(
        name=link.name,
        kind=link.kind or "-",
        up=link.up,
        mtu=link.mtu,
        mac=link.mac or "-",
        addresses=[_address(entry) for entry in addresses if entry["scope"] != _SCOPE_LINK],
        routes=[_route(entry) for entry in routes if _is_configured(entry)],
    )


def _is_known(netlink: Netlink, kind: str) -> bool:
    try:
        netlink.add_link("probe", kind)
    except OSError:
        if kind == "veth":
            raise
        return False
    link = netlink.link("probe")
    assert link is not None, f"the kernel made no {kind} link"
    netlink.delete_link(link.index)
    return True


@contextmanager
def _netlink(path: Path | None) -> Iterator[Netlink]:
    if path is None:
        with Netlink() as netlink:
            yield netlink
    else:
        with netns.opened(str(path)) as handle, Netlink.inside(handle) as netlink:
            yield netlink


def _address(entry: Entry) -> str:
    return f"{entry.get('local', entry.get('address'))}/{entry['prefixlen']}"


def _is_configured(entry: Entry) -> bool:
    """Leave out what the kernel makes by itself for each address."""
    return entry.get("table", _MAIN_TABLE) == _MAIN_TABLE and entry.get("proto") != _KERNEL_PROTOCOL


def _route(entry: Entry) -> str:
    everywhere = "default" if entry["family"] == socket.AF_INET else "default (IPv6)"
    destination = f"{entry['dst']}/{entry['dst_len']}" if entry.get("dst") else everywhere
    return f"{destination} via {entry['gateway']}" if entry.get("gateway") else destination
