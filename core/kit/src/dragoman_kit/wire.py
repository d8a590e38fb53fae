"""Messages of rtnetlink as plain JSON objects, and back. pyroute2 encodes and decodes them; nothing else of it is used.

An *entry* is one message flattened: the header fields and the attributes by their lower-case names without prefix
(``RTA_GATEWAY`` is ``gateway``), so that what was read can be stored as JSON and written again without loss.
Where a field and an attribute share a name (``table``, ``flags``), the attribute is the wider one and wins.

The wire format is that of rtnetlink(7).
"""

from __future__ import annotations

from typing import Any

from pyroute2.netlink import nla_base, nla_slot, nlmsg
from pyroute2.netlink.rtnl.fibmsg import fibmsg
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg
from pyroute2.requests.link import LinkFieldFilter, LinkIPRouteFilter
from pyroute2.requests.main import RequestProcessor

from dragoman_hookspecs import JsonObject

Entry = JsonObject
MessageClass = Any


class _Route(rtmsg):  # type: ignore[misc]  # pyroute2 has no types
    """A route with what pyroute2 does not know: its end in seconds as a number, and its nexthop object."""

    nla_map = (
        *((name, "uint32" if name == "RTA_EXPIRES" else kind) for name, kind in rtmsg.nla_map),
        ("RTA_PAD", "none"),
        ("RTA_UID", "uint32"),
        ("RTA_TTL_PROPAGATE", "uint8"),
        ("RTA_IP_PROTO", "uint8"),
        ("RTA_SPORT", "uint16"),
        ("RTA_DPORT", "uint16"),
        ("RTA_NH_ID", "uint32"),
    )


class _Nexthop(nlmsg):  # type: ignore[misc]  # pyroute2 has no types
    """A nexthop object (nexthop.h), as far as it tells links and gateways."""

    prefix = "NHA_"
    fields = (("family", "B"), ("scope", "B"), ("protocol", "B"), ("resvd", "B"), ("flags", "I"))
    nla_map = (
        ("NHA_UNSPEC", "none"),
        ("NHA_ID", "uint32"),
        ("NHA_GROUP", "cdata"),
        ("NHA_GROUP_TYPE", "uint16"),
        ("NHA_BLACKHOLE", "flag"),
        ("NHA_OIF", "uint32"),
        ("NHA_GATEWAY", "cdata"),
    )


LINK: MessageClass = ifinfmsg
ADDRESS: MessageClass = ifaddrmsg
ROUTE: MessageClass = _Route
NEXTHOP: MessageClass = _Nexthop
RULE: MessageClass = fibmsg
NEIGHBOUR: MessageClass = ndmsg

TABLE_COMPAT = 252
"""RT_TABLE_COMPAT: the header's table field when the number needs the wider attribute."""


def decode(kind: MessageClass, data: bytes) -> Any:
    """Decode one message of that class."""
    message = kind(data)
    message.decode()
    return message


def encode(kind: MessageClass, entry: Entry, type_: int, flags: int, sequence: int) -> bytes:
    """Encode an entry as a request. Keys that the class does not know are left out."""
    message = kind()
    attributes = []
    fields = dict(kind.fields)
    for key, value in entry.items():
        if key in fields:
            message[key] = _narrow(key, value) if fields[key] == "B" else value
        name = key if key.isupper() else kind.name2nla(key)
        if message.valid_nla(name):
            attributes.append([name, value])
    message["attrs"] = attributes
    message["header"]["type"] = type_
    message["header"]["flags"] = flags
    message["header"]["sequence_number"] = sequence
    message.encode()
    return bytes(message.data)


def entry_of(kind: MessageClass, data: bytes) -> Entry:
    """Flatten one message of that class."""
    message = decode(kind, data)
    entry = {name: message[name] for name, _ in message.fields if name != "__pad"}
    for attribute in message["attrs"]:
        entry[type(message).nla2name(attribute[0])] = _plain(attribute[1])
    return entry


def new_link(options: JsonObject) -> Entry:
    """Make the entry of a link to add, from pyroute2's keywords: ``ifname``, ``kind``, ``link``, ``macvlan_mode``…"""
    request = RequestProcessor(context=options, prime=options)
    request.add_filter(LinkFieldFilter())
    request.add_filter(LinkIPRouteFilter("add"))
    request.finalize()
    return dict(request.items())


def _narrow(key: str, value: int) -> int:
    if value <= 0xFF:
        return value
    return TABLE_COMPAT if key == "table" else value & 0xFF


def _plain(value: Any) -> Any:
    if isinstance(value, (nlmsg, nla_base, dict)):
        return {key: _plain(part) for key, part in value.items() if key != "header"}
    if isinstance(value, nla_slot):
        return [value[0], _plain(value[1])]
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value.hex() if isinstance(value, bytes) else value
