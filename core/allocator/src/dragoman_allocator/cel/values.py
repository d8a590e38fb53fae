"""Values while an expression runs.

bool, int, float (double), str, bytes, None (null) and list stand for themselves. The others have a class of their
own, because an
int64, a uint64 and a bool must never be taken for one another. The class of a value is its type: ``KINDS`` says which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from dragoman_allocator.cel.errors import Abort
from dragoman_allocator.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    LIST,
    MAP,
    NULL,
    OPTIONAL,
    QUANTITY,
    SEMVER,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
)
from dragoman_allocator.quantity import Quantity
from dragoman_allocator.semver import Version

Value: TypeAlias = Any

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
MISSING: Final = object()


class Uint(int):
    """A uint64."""

    __slots__ = ()


class Duration(int):
    """Nanoseconds of a duration, within 64 bits."""

    __slots__ = ()


class Timestamp(int):
    """Nanoseconds since 1970; the years are 1 to 9999. ``offset`` is that of the zone it was written in, in seconds."""

    offset = 0

    def at(self, offset: int) -> Timestamp:
        """Give the same point in time, to be printed with an offset."""
        self.offset = offset
        return self


class Joined(list[Value]):
    """A list made by ``+`` from two that are not empty; its elements compare more strictly (see ``equality``)."""

    __slots__ = ()


class Growing(list[Value]):
    """The accumulator of a loop that starts with ``[]``: ``+`` adds to it in place."""

    __slots__ = ()


class Map(dict[Value, Value]):
    """A map.

    A string is its own key. Other keys are pairs of class and value, because 1, 1u, 1.0 and true are four keys, or an
    ``_Identity`` where two equal values are two keys.
    """

    __slots__ = ()

    @classmethod
    def of(cls, entries: dict[Value, Value]) -> Map:
        """Make a map from CEL keys and values."""
        return cls((key_of(key), value) for key, value in entries.items())

    def look_up(self, key: Value) -> Value:
        """Give the value or ``MISSING``; a number finds the entry of another numeric class that is equal to it."""
        if type(key) is str:
            return self.get(key, MISSING)
        if not self:  # which upstream need not hash anything for
            return MISSING
        found = self.get(key_of(key), MISSING)
        if found is MISSING and type(key) in NUMBERS:
            return self._look_up_number(key)
        return found

    def _look_up_number(self, key: Value) -> Value:
        if type(key) is float and not key.is_integer():
            return MISSING
        for cls in (int, Uint):
            found = self.get((cls, int(key)), MISSING)
            if found is not MISSING:
                return found
        return MISSING

    def cel_keys(self) -> Iterator[Value]:
        """Give the keys as CEL sees them."""
        return (key if type(key) is str else key[-1] if type(key) is tuple else key.value for key in self)


class GrowingMap(Map):
    """The accumulator of a loop that starts with ``{}``: entries are added in place."""

    __slots__ = ()


class Named(Map):
    """What a device has in one domain, by name: no other key is ever looked for."""

    __slots__ = ()

    def look_up(self, key: Value) -> Value:
        """Give the value or ``MISSING``."""
        return self.get(key, MISSING) if type(key) is str else MISSING


class Domains(Named):
    """``device.attributes`` and ``device.capacity``: looking up a domain that no name has gives an empty map."""

    __slots__ = ()

    def look_up(self, key: Value) -> Value:
        """Give the attributes of the domain, none if it has none."""
        return self.get(key, NO_ENTRIES) if type(key) is str else NO_ENTRIES


NO_ENTRIES: Final = Named()


class _Identity:
    """A key that is found only by the very same value, as lists, maps and quantities are in Kubernetes."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def key_of(key: Value) -> Value:
    """Give what a ``Map`` holds for a key. Raises ``Abort`` for bytes and versions, which upstream cannot hash."""
    cls = type(key)
    if cls is str:
        return key
    if cls in _KEYS_BY_VALUE:
        return cls, key
    if cls in UNHASHABLE:
        raise Abort(f"internal error: runtime error: hash of unhashable type {type_of(key).name}")
    return _Identity(key)


_KEYS_BY_VALUE: Final[set[type]] = {bool, int, Uint, float, Duration, Timestamp, type(None), Type}
UNHASHABLE: Final[set[type]] = {bytes, Version}


class Optional:
    """A value that may be missing (``value`` is then ``MISSING``)."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


NONE: Final = Optional(MISSING)


class Sum:
    """What ``add`` and ``sub`` give: equal to a quantity on its right, an error to be compared with on its left.

    Kubernetes behaves so because its sum is a pointer to a quantity. It matters, as ``!=`` turns the error into true.
    """

    __slots__ = ("quantity",)

    def __init__(self, quantity: Quantity) -> None:
        self.quantity = quantity


KINDS: Final[dict[type, Type]] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    list: LIST,
    Joined: LIST,
    Growing: LIST,
    Map: MAP,
    GrowingMap: MAP,
    Named: MAP,
    Domains: MAP,
    Optional: OPTIONAL,
    Type: TYPE,
    Duration: DURATION,
    Timestamp: TIMESTAMP,
    Quantity: QUANTITY,
    Sum: QUANTITY,
    Version: SEMVER,
}
LISTS: Final = frozenset((list, Joined, Growing))
MAPS: Final = frozenset((Map, GrowingMap, Named, Domains))
NUMBERS: Final = frozenset((int, Uint, float))


def register(cls: type, kind: Type) -> None:
    """Make a class of a library a type of CEL."""
    KINDS[cls] = kind


def type_of(value: Value) -> Type:
    """Give the type of a value; lists, maps and optionals have ``dyn`` parameters."""
    return KINDS[type(value)]
