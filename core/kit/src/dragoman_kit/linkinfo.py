"""What the kernel shows of a link, read straight from its message: lists of hundreds of links are read all the time."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_IFF_UP = 0x1
_NLA_TYPE_MASK = 0x3FFF

# if_link.h
_ADDRESS, _IFNAME, _MTU, _LINK, _MASTER, _TXQLEN, _LINKINFO, _IFALIAS, _GROUP = 1, 3, 4, 5, 10, 13, 18, 20, 27
_LINK_NETNSID, _PROP_LIST, _ALT_IFNAME, _PERM_ADDRESS, _PARENT_NAME, _PARENT_BUS = 37, 52, 53, 54, 56, 57
_INFO_KIND = 1

SETTABLE_FLAGS = 0x80 | 0x100 | 0x200 | 0x1000
"""Flags of a link that are set by somebody (netdevice(7)): NOARP, PROMISC, ALLMULTI, MULTICAST."""

_INFO_OFFSET = 16
_ATTRIBUTES_OFFSET = 32
_INFO = struct.Struct("=BxHiII")
_ATTRIBUTE = struct.Struct("=HH")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkInfo:
    """A link as the kernel shows it.

    ``kind`` is None for hardware. ``permanent_mac`` is what the hardware came with; virtual links have none.
    ``parent_device`` and ``parent_bus`` are those of sysfs, e.g. ``0000:03:00.1`` and ``pci``. ``lower`` is the index
    of the link that this one is stacked on, or of its peer, in the same namespace; ``master`` that of the bridge, bond
    or VRF that it is a port of. ``flags`` are those of ``SETTABLE_FLAGS`` that are on, ``queue_length`` is in packets.
    """

    index: int
    name: str
    kind: str | None = None
    alias: str = ""
    up: bool = False
    mtu: int = 0
    mac: str | None = None
    permanent_mac: str | None = None
    parent_device: str | None = None
    parent_bus: str | None = None
    lower: int | None = None
    master: int | None = None
    altnames: tuple[str, ...] = ()
    flags: int = 0
    group: int = 0
    queue_length: int = 0


def parse_link(message: bytes) -> LinkInfo:
    """Read an ``RTM_NEWLINK`` message, netlink header included."""
    _, _, index, flags, _ = _INFO.unpack_from(message, _INFO_OFFSET)
    found = dict(_attributes(message, _ATTRIBUTES_OFFSET))
    return LinkInfo(
        index=index,
        name=_text(found.get(_IFNAME)) or "",
        kind=_text(dict(_attributes(found.get(_LINKINFO, b""))).get(_INFO_KIND)),
        alias=_text(found.get(_IFALIAS)) or "",
        up=bool(flags & _IFF_UP),
        mtu=_number(found.get(_MTU)) or 0,
        mac=_mac(found.get(_ADDRESS)),
        permanent_mac=_mac(found.get(_PERM_ADDRESS)),
        parent_device=_text(found.get(_PARENT_NAME)),
        parent_bus=_text(found.get(_PARENT_BUS)),
        lower=None if _LINK_NETNSID in found else _number(found.get(_LINK)),
        master=_number(found.get(_MASTER)),
        altnames=tuple(
            _text(name) or "" for type_, name in _attributes(found.get(_PROP_LIST, b"")) if type_ == _ALT_IFNAME
        ),
        flags=flags & SETTABLE_FLAGS,
        group=_number(found.get(_GROUP)) or 0,
        queue_length=_number(found.get(_TXQLEN)) or 0,
    )


def _attributes(data: bytes, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    while offset + _ATTRIBUTE.size <= len(data):
        length, type_ = _ATTRIBUTE.unpack_from(data, offset)
        yield type_ & _NLA_TYPE_MASK, data[offset + _ATTRIBUTE.size : offset + length]
        offset += max(_ATTRIBUTE.size, (length + 3) & ~3)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.rstrip(b"\0").decode(errors="surrogateescape")


def _number(value: bytes | None) -> int | None:
    return None if value is None else int.from_bytes(value, sys.byteorder)


def _mac(value: bytes | None) -> str | None:
    return value.hex(":") if value else None
