"""``Netlink``: links, addresses, routes, rules and neighbours of one network namespace."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import Any, Self

from dragoman_kit import netns, nexthops, rtnl, wire
from dragoman_kit.linkinfo import LinkInfo, parse_link
from dragoman_kit.wire import Entry

__all__ = ["LinkInfo", "Netlink"]

_IFF_UP = 0x1
# RTM_NEW…; DEL is one more and GET two more.
_RTM_LINK, _RTM_ADDRESS, _RTM_ROUTE, _RTM_NEIGHBOUR, _RTM_RULE = 16, 20, 24, 28, 32
_RTM_SETLINK, _RTM_NEWLINKPROP, _RTM_DELLINKPROP = 19, 108, 109
_RTEXT_FILTER_SKIP_STATS = 0x8
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_CREATE = rtnl.NLM_F_CREATE | rtnl.NLM_F_EXCL
_REPLACE = rtnl.NLM_F_CREATE | rtnl.NLM_F_REPLACE
_DST_LEN_OFFSET = 17


class Netlink(rtnl.Rtnl):
    """A handle on the network namespace that the calling thread is in when it is made.

    One handle for one use or one thread; it is a context manager. Requests that the kernel refuses raise ``OSError``
    (``FileExistsError`` for a name in use, and so on).
    """

    @classmethod
    @contextlib.contextmanager
    def inside(cls, handle: int) -> Iterator[Self]:
        """Open a handle on the namespace of a descriptor; the thread is there only while the socket is made."""
        with netns.entered(handle):
            netlink = cls()
        with netlink:
            yield netlink

    def links(self) -> list[LinkInfo]:
        """List all links."""
        wanted = {"family": socket.AF_UNSPEC, "ext_mask": _RTEXT_FILTER_SKIP_STATS}
        return [parse_link(message) for message in self.dump(wire.LINK, _RTM_LINK + 2, wanted)]

    def link(self, name: str) -> LinkInfo | None:
        """Find a link by its name; a name is also taken by an alternative name, which this finds too."""
        for key in ("ifname", "alt_ifname"):
            wanted = {"family": socket.AF_UNSPEC, "ext_mask": _RTEXT_FILTER_SKIP_STATS, key: name}
            try:
                return parse_link(self.request(wire.LINK, _RTM_LINK + 2, wanted)[0])
            except OSError as error:
                if not _no_such_link(error):
                    raise
        return None

    def add_link(self, name: str, kind: str, **options: Any) -> None:
        """Make a link. ``options`` are pyroute2's, e.g. ``link`` (index of the parent), ``macvlan_mode``, ``mtu``."""
        self.request(wire.LINK, _RTM_LINK, wire.new_link({"ifname": name, "kind": kind, **options}), _CREATE)

    def set_link(self, index: int, *, up: bool | None = None, **changes: Any) -> None:
        """Change a link: ``up``, and attributes such as ``ifname``, ``mtu``, ``address``, ``ifalias``, ``master``,
        ``net_ns_fd`` (with ``ifname``: moved and renamed in one step, so that names in use there do not matter).
        """
        entry: Entry = {"index": index, **changes}
        if up is not None:
            entry |= {"flags": _IFF_UP if up else 0, "change": _IFF_UP}
        self.request(wire.LINK, _RTM_SETLINK, entry)

    def delete_link(self, index: int) -> None:
        """Delete a link."""
        self.request(wire.LINK, _RTM_LINK + 1, {"index": index})

    def add_altname(self, index: int, name: str) -> None:
        """Give a link an alternative name."""
        self.request(wire.LINK, _RTM_NEWLINKPROP, _altname(index, name), _CREATE)

    def delete_altname(self, index: int, name: str) -> None:
        """Take an alternative name from a link."""
        self.request(wire.LINK, _RTM_DELLINKPROP, _altname(index, name))

    def addresses(self, index: int) -> list[Entry]:
        """List the addresses of a link."""
        return self._entries(wire.ADDRESS, _RTM_ADDRESS, {"index": index})

    def add_address(self, entry: Entry, *, replace: bool = False) -> None:
        """Add an address, or change the one that exists."""
        self.request(wire.ADDRESS, _RTM_ADDRESS, entry, _REPLACE if replace else _CREATE)

    def delete_address(self, entry: Entry) -> None:
        """Delete an address."""
        self.request(wire.ADDRESS, _RTM_ADDRESS + 1, entry)

    def routes(self, index: int) -> list[Entry]:
        """List the routes over a link, of all tables; multipath routes among them."""
        return nexthops.expanded(self, self._entries(wire.ROUTE, _RTM_ROUTE, {"oif": index}))

    def table(self, number: int) -> list[Entry]:
        """List the routes of one table; none where the table does not exist."""
        found = []
        for family in _FAMILIES:
            with contextlib.suppress(FileNotFoundError):
                found += self.dump(wire.ROUTE, _RTM_ROUTE + 2, {"family": family, "table": number})
        return nexthops.expanded(self, [wire.entry_of(wire.ROUTE, message) for message in found])

    def default_routes(self) -> list[Entry]:
        """List the default routes of all tables."""
        found = [
            wire.entry_of(wire.ROUTE, message)
            for family in _FAMILIES
            for message in self.dump(wire.ROUTE, _RTM_ROUTE + 2, {"family": family})
            if message[_DST_LEN_OFFSET] == 0  # a node may have a hundred thousand others
        ]
        return nexthops.expanded(self, found)

    def add_route(self, entry: Entry) -> None:
        """Add a route; ``FileExistsError`` when there is one with that destination, table and metric."""
        self.request(wire.ROUTE, _RTM_ROUTE, entry, _CREATE)

    def rules(self) -> list[Entry]:
        """List the policy rules."""
        return self._entries(wire.RULE, _RTM_RULE, {})

    def add_rule(self, entry: Entry) -> None:
        """Add a policy rule."""
        self.request(wire.RULE, _RTM_RULE, entry, _CREATE)

    def delete_rule(self, entry: Entry) -> None:
        """Delete a policy rule."""
        self.request(wire.RULE, _RTM_RULE + 1, entry)

    def neighbours(self, index: int) -> list[Entry]:
        """List the neighbours of a link."""
        return self._entries(wire.NEIGHBOUR, _RTM_NEIGHBOUR, {"ifindex": index}, {"NDA_IFINDEX": index})

    def add_neighbour(self, entry: Entry) -> None:
        """Add a neighbour, or change the one that exists."""
        self.request(wire.NEIGHBOUR, _RTM_NEIGHBOUR, entry, _REPLACE)

    def _entries(self, kind: Any, type_: int, wanted: Entry, filter_: Entry | None = None) -> list[Entry]:
        wanted = wanted if filter_ is None else filter_
        messages: list[bytes] = []
        for family in _FAMILIES:
            messages += self.dump(kind, type_ + 2, {"family": family, **wanted})
        return [wire.entry_of(kind, message) for message in messages]


def _altname(index: int, name: str) -> Entry:
    return {"index": index, "IFLA_PROP_LIST": {"attrs": [["IFLA_ALT_IFNAME", name]]}}


def _no_such_link(error: OSError) -> bool:
    # ERANGE: the name is longer than a name of that sort can be.
    return error.errno in (errno.ENODEV, errno.ERANGE)
