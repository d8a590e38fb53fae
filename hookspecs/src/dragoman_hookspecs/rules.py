"""What the kernel and the API take as a name or value: pure rules, for the agent and for plugins alike.

Each function gives None for a good value, otherwise what is wrong with it in a few words that follow the field's path.
"""

from __future__ import annotations

import ipaddress
import re

INTERFACE_NAME_BYTES = 15
"""IFNAMSIZ of the kernel, without the closing zero byte."""

MTU_MIN = 68
"""Least MTU of IPv4 (RFC 791)."""

MTU_MIN_IPV6 = 1280
"""Least MTU of IPv6 (RFC 8200); below it the kernel takes IPv6 off the link."""

MTU_MAX = 65536

_RESERVED_INTERFACE_NAMES = frozenset({"lo", "all", "default"})
# '/' and '..' would leave the sysctl folder, ':' marks an alias, and '%' is a pattern that the kernel fills in.
_INTERFACE_NAME = re.compile(r"[!-~]+", re.ASCII)
_SYSCTL_LEAF = re.compile(r"[a-z0-9_]+", re.ASCII)
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII | re.IGNORECASE)
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def interface_name(name: str) -> str | None:
    """Judge a name for a link: the kernel's rule (``dev_valid_name``), and usable as one component of a sysctl path."""
    if not name:
        return "an interface name must not be empty"
    if len(name.encode(errors="surrogatepass")) > INTERFACE_NAME_BYTES:
        return f"an interface name has at most {INTERFACE_NAME_BYTES} bytes, {name!r} has more"
    if name in _RESERVED_INTERFACE_NAMES:
        return f"the interface name {name!r} is reserved"
    if name in (".", "..") or not _INTERFACE_NAME.fullmatch(name) or set(name) & set("/:%"):
        return f"{name!r} is not an interface name: visible ASCII without '/', ':' and '%', and not '.' or '..'"
    return None


def sysctl_leaf(name: str) -> str | None:
    """Judge the leaf of an interface sysctl: one path component such as ``arp_filter``."""
    if not _SYSCTL_LEAF.fullmatch(name):
        return f"{name!r} is not the plain name of an interface sysctl, such as 'arp_filter'"
    return None


def sysctl_value(value: str) -> str | None:
    """Judge what is written to a sysctl: one line."""
    if not value or not value.isprintable():
        return f"{value!r} is not a sysctl value: one line of text"
    return None


def mac_address(address: str) -> str | None:
    """Judge a MAC address for a link: six bytes with colons, unicast, not zero."""
    if not _MAC.fullmatch(address):
        return f"{address!r} is not a MAC address such as 02:00:00:00:00:01"
    if int(address[:2], 16) & 1:
        return f"{address!r} is a multicast address"
    if not int(address.replace(":", ""), 16):
        return f"{address!r} is the zero address"
    return None


def vlan_id(number: int) -> str | None:
    """Judge a VLAN id (802.1Q): 0 to 4094, where 0 means none."""
    return None if 0 <= number <= 4094 else f"a VLAN id is 0–4094, not {number}"


def mtu(size: int) -> str | None:
    """Judge an MTU in bytes. Whether the device can do it is for the kernel to say."""
    return None if MTU_MIN <= size <= MTU_MAX else f"an MTU is {MTU_MIN}–{MTU_MAX}, not {size}"


def ip_address(address: str) -> str | None:
    """Judge an IPv4 or IPv6 address without prefix or zone."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return f"{address!r} is not an IP address"
    return "an address with a zone is not allowed" if getattr(parsed, "scope_id", None) else None


def interface_address(address: str) -> str | None:
    """Judge the address of a link: an IPv4 or IPv6 address with its prefix length, such as ``192.0.2.1/24``."""
    host, slash, prefix = address.partition("/")
    if not slash or not prefix.isdecimal():
        return f"{address!r} is not an address with a prefix length, such as 192.0.2.1/24"
    try:
        ipaddress.ip_interface(address)
    except ValueError as error:
        return str(error)
    return ip_address(host)


def route_destination(text: str) -> str | None:
    """Judge the destination of a route: ``default``, or a network whose host bits are zero."""
    if text == "default":
        return None
    if fault := interface_address(text):
        return fault
    interface = ipaddress.ip_interface(text)
    if interface.ip != interface.network.network_address:
        return f"{text!r} has host bits set; did you mean {interface.network}?"
    return None


def dns_label(name: str) -> str | None:
    """Judge a DNS label (RFC 1123), which device names and claim names in paths are."""
    if not _DNS_LABEL.fullmatch(name):
        return (
            f"{name!r} is not a DNS label: at most 63 of a-z, 0-9 and '-', beginning and ending with a letter or digit"
        )
    return None
