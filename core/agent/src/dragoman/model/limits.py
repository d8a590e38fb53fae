"""What the API takes in a ResourceSlice: limits and name rules of ``resource.k8s.io/v1`` (Kubernetes 1.35 to 1.37)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman_hookspecs import DragomanError, rules

ENTRIES_PER_DEVICE = 32
"""Attributes and capacities of a device, together."""
VALUES_PER_DEVICE = 48
"""Attribute values of a device; a list counts by its length."""
STRING_BYTES = 64
"""Bytes of a string or version attribute."""
TAINTS_PER_DEVICE = 16
COUNTERS_PER_SET = 32
CONSUMPTIONS_PER_DEVICE = 2
BINDING_CONDITIONS = 4
"""Binding conditions of a device, and as many binding failure conditions."""
VALID_VALUES = 10
"""Entries of ``requestPolicy.validValues``."""
SHAREABLE_SINCE = 34
"""Minor version of Kubernetes that knows ``allowMultipleAllocations``."""
LISTS_SINCE = 36
"""Minor version of Kubernetes that knows list attributes."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SEMVER = re.compile(
    r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
    r"(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


class Unfit(DragomanError):
    """The device cannot be published at all, and why."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SliceWarning:
    """Something was changed, dropped or left out so that the API takes the rest.

    ``device`` is "" where it concerns no single device; ``what`` names the field.
    """

    device: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"device {self.device}: {self.what}: {self.why}" if self.device else f"{self.what}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What is known of the API server. ``minor`` None is a current one; ``lists`` False: list attributes are off."""

    minor: int | None = None
    lists: bool = True

    @property
    def takes_lists(self) -> bool:
        """Whether list attributes can be published."""
        return self.lists and (self.minor is None or self.minor >= LISTS_SINCE)

    @property
    def takes_shareable(self) -> bool:
        """Whether shareable devices can be published."""
        return self.minor is None or self.minor >= SHAREABLE_SINCE


def is_dns_label(text: str) -> bool:
    """Tell whether a device, counter set or counter may have this name."""
    return rules.dns_label(text) is None


def is_dns_subdomain(text: str, limit: int = 253) -> bool:
    """Tell whether this is a DNS subdomain of at most so many characters."""
    return len(text) <= limit and all(is_dns_label(part) for part in text.split("."))


def is_qualified_name(text: str) -> bool:
    """Tell whether an attribute or capacity may have this name: ``identifier`` or ``domain/identifier``.

    The API does not look at names with more slashes; they are refused here, because nothing can refer to them.
    """
    domain, slash, identifier = text.rpartition("/")
    # The API takes upper case in the domain.
    return _IDENTIFIER.fullmatch(identifier) is not None and (not slash or is_dns_subdomain(domain.lower(), 63))


def is_label_key(text: str) -> bool:
    """Tell whether a taint or condition may have this name: ``name`` or ``domain/name`` of a label."""
    domain, slash, name = text.rpartition("/")
    return _LABEL_VALUE.fullmatch(name) is not None and (not slash or is_dns_subdomain(domain))


def is_label_value(text: str) -> bool:
    """Tell whether a taint may have this value."""
    return not text or _LABEL_VALUE.fullmatch(text) is not None


def is_semver(text: str) -> bool:
    """Tell whether this is a version of semver 2.0.0, without ``v`` and leading zeros, of at most 64 bytes."""
    return len(text) <= STRING_BYTES and _SEMVER.fullmatch(text) is not None


def cut(text: str, limit: int = STRING_BYTES) -> str:
    """Shorten to so many bytes of UTF-8, on a character boundary. What is not Unicode becomes a question mark."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")
