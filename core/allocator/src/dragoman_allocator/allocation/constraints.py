"""matchAttribute and distinctAttribute of a claim, as stacks that the search pushes to and pops from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dragoman_allocator.allocation.attributes import UNKNOWN, Value


class Constraint(Protocol):
    """One constraint during one attempt."""

    attribute: str

    def applies(self, names: Iterable[str]) -> bool:
        """Tell whether it applies to a request that goes by one of these names."""

    def push(self, value: Value) -> bool:
        """Add a device with the value if the constraint still holds then; False changes nothing."""

    def pop(self) -> None:
        """Take back the device added last."""


class _Named:
    def __init__(self, attribute: str, requests: Iterable[str]) -> None:
        self.attribute = attribute
        self._requests = frozenset(requests)

    def applies(self, names: Iterable[str]) -> bool:
        """See ``Constraint``."""
        return not self._requests or not self._requests.isdisjoint(names)


class MatchScalar(_Named):
    """All devices have the first one's value; the first may have any, even one that nothing equals."""

    def __init__(self, attribute: str, requests: Iterable[str]) -> None:
        super().__init__(attribute, requests)
        self._value: Value = UNKNOWN
        self._count = 0

    def push(self, value: Value) -> bool:
        """See ``Constraint``."""
        if not self._count:
            self._value = value
        elif value == UNKNOWN or value != self._value:
            return False
        self._count += 1
        return True

    def pop(self) -> None:
        """See ``Constraint``."""
        self._count -= 1


class MatchSets(_Named):
    """All devices have an element in common (DRAListTypeAttributes)."""

    def __init__(self, attribute: str, requests: Iterable[str]) -> None:
        super().__init__(attribute, requests)
        self._common: list[Value] = []

    def push(self, value: Value) -> bool:
        """See ``Constraint``."""
        if value == UNKNOWN:
            return False
        if self._common:
            common = _shared(self._common[-1], value)
            if common is None:
                return False
            value = common
        self._common.append(value)
        return True

    def pop(self) -> None:
        """See ``Constraint``."""
        self._common.pop()


class DistinctScalars(_Named):
    """No two devices have the same value; a value of no known kind is only taken for the first device."""

    def __init__(self, attribute: str, requests: Iterable[str]) -> None:
        super().__init__(attribute, requests)
        self._values: list[Value] = []

    def push(self, value: Value) -> bool:
        """See ``Constraint``."""
        if self._values and (value == UNKNOWN or value in self._values):
            return False
        self._values.append(value)
        return True

    def pop(self) -> None:
        """See ``Constraint``."""
        self._values.pop()


class DistinctSets(_Named):
    """No two devices have an element in common (DRAListTypeAttributes)."""

    def __init__(self, attribute: str, requests: Iterable[str]) -> None:
        super().__init__(attribute, requests)
        self._values: list[Value] = []

    def push(self, value: Value) -> bool:
        """See ``Constraint``."""
        if value == UNKNOWN or any(_shared(other, value) is not None for other in self._values):
            return False
        self._values.append(value)
        return True

    def pop(self) -> None:
        """See ``Constraint``."""
        self._values.pop()


def _shared(left: Value, right: Value) -> Value | None:
    if left[0] != right[0] or not isinstance(left[1], frozenset) or not isinstance(right[1], frozenset):
        return None
    common = left[1] & right[1]
    return (left[0], common) if common else None
