"""``ip`` and ``cidr``: addresses and prefixes without zones and without IPv4 in IPv6."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final, TypeAlias

from dragoman_allocator.cel import costs, operators, values
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.functions import function, method
from dragoman_allocator.cel.types import CIDR, IP

_Address: TypeAlias = IPv4Address | IPv6Address
_BITS: Final = re.compile(r"0|[1-9][0-9]{0,2}")
_MAPPED: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class Address:
    """A value of type ``net.IP``."""

    ip: _Address

    def __str__(self) -> str:
        return str(self.ip)


@dataclass(frozen=True, slots=True)
class Prefix:
    """A value of type ``net.CIDR``; bits beyond the length may be set."""

    ip: _Address
    length: int

    def __str__(self) -> str:
        return f"{self.ip}/{self.length}"

    def masked(self) -> Prefix:
        """Clear the bits beyond the length."""
        drop = self.ip.max_prefixlen - self.length
        return Prefix(type(self.ip)(int(self.ip) >> drop << drop), self.length)

    def covers(self, ip: _Address) -> bool:
        """Tell whether an address is within."""
        drop = self.ip.max_prefixlen - self.length
        return type(ip) is type(self.ip) and int(ip) >> drop == int(self.ip) >> drop


values.register(Address, IP)
values.register(Prefix, CIDR)
operators.register_equality(Address, lambda a, b: a == b)
operators.register_equality(Prefix, lambda a, b: a == b)
costs.register_size(Address, lambda address: address.ip.max_prefixlen // 8)
costs.register_size(Prefix, lambda prefix: -(-prefix.length // 8))


def _parse(text: str) -> _Address:
    if ":" not in text:
        return IPv4Address(text)
    if "%" in text:
        raise ValueError("zone")
    ip = IPv6Address(text)
    if int(ip) >> 32 == _MAPPED:
        raise ValueError("IPv4-mapped IPv6 address")
    return ip


def _address(text: str) -> Address:
    try:
        return Address(_parse(text))
    except ValueError as error:
        raise EvaluationError(f'IP Address "{text}" parse error during conversion from string: {error}') from None


def _prefix(text: str) -> Prefix:
    try:
        address, slash, bits = text.rpartition("/")
        if not slash or _BITS.fullmatch(bits) is None:
            raise ValueError("no prefix length")
        ip = _parse(address)
        if int(bits) > ip.max_prefixlen:
            raise ValueError("prefix length out of range")
        return Prefix(ip, int(bits))
    except ValueError as error:
        raise EvaluationError(f"network address parse error during conversion from string: {error}") from None


def _is_address(text: str) -> bool:
    try:
        _parse(text)
    except ValueError:
        return False
    return True


def _is_prefix(text: str) -> bool:
    try:
        _prefix(text)
    except EvaluationError:
        return False
    return True


def _contains(outer: Prefix, inner: Prefix) -> bool:
    return outer.length <= inner.length and outer.covers(inner.ip)


def _global_unicast(address: Address) -> bool:
    ip = address.ip
    if ip.version == 4 and int(ip) in (0, 2**32 - 1):
        return False
    return not (ip.is_unspecified or ip.is_loopback or ip.is_multicast or _link_local(ip))


def _link_local(ip: _Address) -> bool:
    return int(ip) >> 16 == 0xA9FE if ip.version == 4 else int(ip) >> 118 == 0x3FA


def _link_local_multicast(address: Address) -> bool:
    ip = address.ip
    return int(ip) >> 8 == 0xE00000 if ip.version == 4 else int(ip) >> 112 & 0xFF0F == 0xFF02


OVERLOADS: Final = (
    function("ip", "string -> IP", "string_to_ip", _address),
    function("isIP", "string -> bool", "is_ip", _is_address),
    function("ip.isCanonical", "string -> bool", "ip_is_canonical", lambda text: str(_address(text)) == text),
    function("string", "IP -> string", "ip_to_string", str),
    method("family", "IP -> int", "ip_family", lambda a: a.ip.version),
    method("isUnspecified", "IP -> bool", "ip_is_unspecified", lambda a: int(a.ip) == 0),
    method("isLoopback", "IP -> bool", "ip_is_loopback", lambda a: a.ip.is_loopback),
    method("isLinkLocalMulticast", "IP -> bool", "ip_is_link_local_multicast", _link_local_multicast),
    method("isLinkLocalUnicast", "IP -> bool", "ip_is_link_local_unicast", lambda a: _link_local(a.ip)),
    method("isGlobalUnicast", "IP -> bool", "ip_is_global_unicast", _global_unicast),
    function("cidr", "string -> CIDR", "string_to_cidr", _prefix),
    function("isCIDR", "string -> bool", "is_cidr", _is_prefix),
    function("string", "CIDR -> string", "cidr_to_string", str),
    method("containsIP", "CIDR, string -> bool", "cidr_contains_ip_string", lambda a, b: a.covers(_address(b).ip)),
    method("containsIP", "CIDR, IP -> bool", "cidr_contains_ip_ip", lambda a, b: a.covers(b.ip)),
    method("containsCIDR", "CIDR, string -> bool", "cidr_contains_cidr_string", lambda a, b: _contains(a, _prefix(b))),
    method("containsCIDR", "CIDR, CIDR -> bool", "cidr_contains_cidr", _contains),
    method("ip", "CIDR -> IP", "cidr_ip", lambda prefix: Address(prefix.ip)),
    method("prefixLength", "CIDR -> int", "cidr_prefix_length", lambda prefix: prefix.length),
    method("masked", "CIDR -> CIDR", "cidr_masked", Prefix.masked),
)
