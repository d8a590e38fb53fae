"""Checks of single settings. Each gives what is wrong as text that follows the key, or None."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

from dragoman.model.pools import PoolConfig
from dragoman_hookspecs import Fault, InvalidConfig, json_key

Finding = tuple[str, str | None]
"""A path and what is wrong there, or None."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_UID = re.compile(r"[A-Za-z0-9][-A-Za-z0-9]{0,62}")


def refuse(findings: Iterable[Finding]) -> None:
    """Raise ``InvalidConfig`` with all that was found, if anything was."""
    faults = [Fault(path, message) for path, message in findings if message]
    if faults:
        raise InvalidConfig(faults)


def between(value: float, low: float, high: float, unit: str) -> str | None:
    """Check a range, both ends included. Not a number (NaN) is in no range."""
    return None if low <= value <= high else f"must be {_plain(low)}–{_plain(high)} {unit}, is {_plain(value)}"


def _plain(number: float) -> str:
    """Write a number as people do: with all its digits, without an exponent."""
    text = format(Decimal(str(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def one_of(value: str, allowed: Sequence[str]) -> str | None:
    """Check that the value is one of a few words."""
    return None if value in allowed else f"must be one of {', '.join(allowed)}, is {value!r}"


def absolute_path(value: Path) -> str | None:
    """Check that a path does not depend on the working directory and is free of ``..``."""
    return None if value.is_absolute() and ".." not in value.parts else f"must be an absolute path, is {str(value)!r}"


def http_url(value: str) -> str | None:
    """Check for a URL with scheme http or https and a host."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return f"must be a http or https URL, is {value!r}"
    return None if parts.scheme in {"http", "https"} and parts.netloc else f"must be a http or https URL, is {value!r}"


def two_digits(value: str) -> str | None:
    """Check the index of a NRI plugin: the runtime takes two decimal digits and nothing else."""
    return None if re.fullmatch("[0-9]{2}", value) else f'must be two digits, such as "50", is {value!r}'


def dns_label(value: str) -> str | None:
    """Check for a DNS label (RFC 1123)."""
    return None if _LABEL.fullmatch(value) else f"must be a DNS label, is {value!r}"


def dns_subdomain(value: str, longest: int = 253) -> str | None:
    """Check for a DNS subdomain (RFC 1123), as names of objects and drivers are."""
    if len(value) > longest:
        return f"must have at most {longest} characters, has {len(value)}"
    good = all(_LABEL.fullmatch(label) for label in value.split("."))
    return None if good else f"must be a DNS subdomain in lower case, is {value!r}"


def driver_name(value: str) -> str | None:
    """Check a DRA driver name: a DNS subdomain of at most 63 bytes; as CDI vendor it begins with a letter."""
    if message := dns_subdomain(value, longest=63):
        return message
    return None if value[0].isalpha() else f"must begin with a letter, because it is the CDI vendor, is {value!r}"


def uid(value: str) -> str | None:
    """Check a UID, which becomes part of socket names."""
    return None if _UID.fullmatch(value) else f"must be a UID of letters, digits and dashes, is {value!r}"


def pools(entries: Sequence[PoolConfig]) -> Iterator[Finding]:
    """Check the pools: names usable as attribute value and unique, filter values not empty, no interface named twice.

    Source: "Filter conflict rules" of the source document. An interface name that stands twice in one pool is refused
    as well: it is a mistake, and dropping it silently would hide which of two names was meant.
    """
    names: dict[str, int] = {}
    if_names: dict[str, str] = {}
    for index, pool in enumerate(entries):
        path = f"pools[{index}]"
        yield f"{path}.name", _pool_name(pool.name)
        if (first := names.setdefault(pool.name, index)) != index:
            yield f"{path}.name", f"{pool.name!r} is the name of pools[{first}] already"
        yield from _empty_values(path, pool)
        for at, if_name in enumerate(pool.filter.if_names if pool.filter else ()):
            here = f"{path}.filter.ifNames[{at}]"
            if (there := if_names.setdefault(if_name, here)) != here:
                yield here, f"{if_name!r} stands in {there} already; an interface belongs to one pool"


def _pool_name(name: str) -> str | None:
    if "/" in name:
        return f"must not contain '/', is {name!r}"
    size = len(name.encode("utf-8", "surrogatepass"))
    return None if 1 <= size <= 64 else f"must have 1–64 bytes, has {size}"


def _empty_values(path: str, pool: PoolConfig) -> Iterator[Finding]:
    for each in fields(pool.filter) if pool.filter else ():
        for at, value in enumerate(getattr(pool.filter, each.name)):
            if not value:
                yield f"{path}.filter.{json_key(each.name)}[{at}]", "must not be empty"
