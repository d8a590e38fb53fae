"""Rules about the addresses that drivers report: interface addresses in CIDR form."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from dragoman_allocator.validation.errors import Errors, invalid

_FORM: Final = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"


def interface(value: str, path: str) -> Errors:
    """Check an address with its prefix length, in canonical form."""
    text, slash, prefix = value.partition("/")
    address = _address(text)
    bits = 0 if address is None else address.max_prefixlen
    if not slash or address is None or not re.fullmatch("[0-9]{1,5}", prefix) or int(prefix) > bits:
        return [invalid(path, value, _FORM)]
    canonical = f"{_shown(address)}/{_prefix(address, int(prefix))}"
    if value == canonical:
        return []
    return [invalid(path, value, f'must be in canonical form ("{canonical}")')]


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address; its parts may have any number of zeros in front, as the API server reads them."""
    if not text.isascii() or "%" in text:
        return None
    try:
        return ip_address(re.sub("(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])", "", text))
    except ValueError:
        return None


def _shown(address: IPv4Address | IPv6Address) -> str:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _prefix(address: IPv4Address | IPv6Address, prefix: int) -> int:
    """Give the prefix length that belongs to the address as shown."""
    mapped = isinstance(address, IPv6Address) and address.ipv4_mapped
    return prefix - 96 if mapped and prefix > 32 else prefix
