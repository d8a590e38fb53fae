"""Types as the checker knows them.

A type is a kind, a name and parameters: ``list(int)``, ``map(string, dyn)``, ``optional_type(A)``. Names are those
CEL itself prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Final


class Kind(Enum):
    """What a type is made of."""

    DYN = auto()
    ANY = auto()
    BOOL = auto()
    BYTES = auto()
    DOUBLE = auto()
    DURATION = auto()
    ERROR = auto()
    INT = auto()
    LIST = auto()
    MAP = auto()
    NULL = auto()
    OPAQUE = auto()
    STRING = auto()
    STRUCT = auto()
    TIMESTAMP = auto()
    TYPE = auto()
    PARAM = auto()
    UINT = auto()


@dataclass(frozen=True, slots=True)
class Type:
    """A type; two are the same if all members are equal."""

    kind: Kind
    name: str
    params: tuple[Type, ...] = ()

    @property
    def dynamic(self) -> bool:
        """Whether any value may be behind it."""
        return self.kind in (Kind.DYN, Kind.ANY)

    def __str__(self) -> str:
        if self.kind is Kind.PARAM:
            return f"<{self.name}>"
        if not self.params:
            return _PRINTED.get(self.name, self.name)
        return f"{self.name}({', '.join(map(str, self.params))})"


_PRINTED: Final = {
    "google.protobuf.Any": "any",
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
}

DYN: Final = Type(Kind.DYN, "dyn")
ANY: Final = Type(Kind.ANY, "google.protobuf.Any")
BOOL: Final = Type(Kind.BOOL, "bool")
BYTES: Final = Type(Kind.BYTES, "bytes")
DOUBLE: Final = Type(Kind.DOUBLE, "double")
DURATION: Final = Type(Kind.DURATION, "google.protobuf.Duration")
ERROR: Final = Type(Kind.ERROR, "error")
INT: Final = Type(Kind.INT, "int")
NULL: Final = Type(Kind.NULL, "null_type")
STRING: Final = Type(Kind.STRING, "string")
TIMESTAMP: Final = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE: Final = Type(Kind.TYPE, "type")
UINT: Final = Type(Kind.UINT, "uint")
QUANTITY: Final = Type(Kind.STRUCT, "kubernetes.Quantity")
SEMVER: Final = Type(Kind.STRUCT, "kubernetes.Semver")
URL: Final = Type(Kind.STRUCT, "kubernetes.URL")
FORMAT: Final = Type(Kind.STRUCT, "kubernetes.NamedFormat")
IP: Final = Type(Kind.OPAQUE, "net.IP")
CIDR: Final = Type(Kind.OPAQUE, "net.CIDR")
DEVICE: Final = Type(Kind.STRUCT, "kubernetes.DRADevice")


def list_of(element: Type) -> Type:
    """Give ``list(element)``."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Give ``map(key, value)``."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """Give ``optional_type(value)``."""
    return Type(Kind.OPAQUE, "optional_type", (value,))


def type_of_type(value: Type) -> Type:
    """Give the type of the type ``value``."""
    return Type(Kind.TYPE, "type", (value,))


def param(name: str) -> Type:
    """Give a type parameter, which stands for one type throughout a signature."""
    return Type(Kind.PARAM, name)


LIST: Final = list_of(DYN)
MAP: Final = map_of(DYN, DYN)
OPTIONAL: Final = optional_of(DYN)

NAMED: Final = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "duration": DURATION,
    "dyn": DYN,
    "int": INT,
    "null": NULL,
    "string": STRING,
    "timestamp": TIMESTAMP,
    "uint": UINT,
    "Quantity": QUANTITY,
    "Semver": SEMVER,
    "URL": URL,
    "Format": FORMAT,
    "IP": IP,
    "CIDR": CIDR,
    **{
        name: Type(Kind.STRUCT, f"kubernetes.authorization.{name}")
        for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    },
}
_GENERIC: Final[dict[str, Callable[..., Type]]] = {
    "list": list_of,
    "map": map_of,
    "optional": optional_of,
    "type": type_of_type,
}
_TOKEN: Final = re.compile(r"\s*([A-Za-z]+|[<>,])")


@cache
def parse_type(text: str) -> Type:
    """Read a type as the signatures of this package write it: ``map<string, list<A>>``.

    Single capitals are parameters.
    """
    tokens = [m[1] for m in _TOKEN.finditer(text)]
    found = _read(tokens)
    assert not tokens, text
    return found


def parse_types(text: str) -> tuple[Type, ...]:
    """Read types separated by commas; an empty text gives none."""
    tokens = [m[1] for m in _TOKEN.finditer(text)]
    found = []
    while tokens:
        found.append(_read(tokens))
        if tokens:
            assert tokens.pop(0) == ",", text
    return tuple(found)


def _read(tokens: list[str]) -> Type:
    name = tokens.pop(0)
    if tokens[:1] != ["<"]:
        return NAMED.get(name) or param(name)
    tokens.pop(0)
    params = [_read(tokens)]
    while tokens.pop(0) == ",":
        params.append(_read(tokens))
    return _GENERIC[name](*params)
