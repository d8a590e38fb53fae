"""Equality, order and arithmetic of values, with cel-go's rules for mixed types and its 64-bit overflows."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, nan
from typing import Final

from dragoman_allocator.cel import work
from dragoman_allocator.cel.errors import EvaluationError, no_such_overload
from dragoman_allocator.cel.types import Type
from dragoman_allocator.cel.values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    MAPS,
    MISSING,
    NUMBERS,
    UINT_MAX,
    Duration,
    Growing,
    Joined,
    Map,
    Named,
    Optional,
    Sum,
    Timestamp,
    Uint,
    Value,
    key_of,
)
from dragoman_allocator.quantity import Quantity
from dragoman_allocator.semver import Version

_PLAIN: Final = frozenset((bool, int, Uint, str, bytes, Duration, Timestamp))
_ORDERED: Final = frozenset((bool, int, Uint, float, str, bytes, Duration, Timestamp))
WRAPPERS: dict[type, tuple[tuple[type, ...], Callable[[Value, Value], bool]]] = {
    Quantity: ((Quantity,), lambda a, b: a == b),
    Sum: ((Quantity,), lambda a, b: a.quantity == b),
    Version: ((Version,), lambda a, b: a == b),
}


def register_equality(cls: type, equal_values: Callable[[Value, Value], bool]) -> None:
    """Give a library's class equality with its own kind; with any other type on the right it is an error."""
    WRAPPERS[cls] = ((cls,), equal_values)


def equal(a: Value, b: Value) -> bool:
    """Tell whether ``a == b``.

    Raises ``EvaluationError`` if a quantity, version, address ... is compared with another type.
    """
    cls = type(a)
    if cls is type(b) and cls in _PLAIN:
        return bool(a == b)
    if a is None or b is None:
        return a is b
    return same(a, b)


def same(a: Value, b: Value) -> bool:
    """Tell the same without the exception for null on the right, as the search in lists does."""
    cls = type(a)
    if cls in _PLAIN and cls is type(b):
        if cls is str:
            work.characters(min(len(a), len(b)))
        return bool(a == b)
    if cls in WRAPPERS:
        others, compare_values = WRAPPERS[cls]
        if type(b) not in others:
            raise no_such_overload()
        return compare_values(a, b)
    for classes, compare_values in _EQUALITIES:
        if cls in classes:
            return type(b) in classes and compare_values(a, b)
    return False


def _equal_numbers(a: Value, b: Value) -> bool:
    return not _unordered(a, b) and _compare_numbers(a, b) == 0


def _equal_lists(a: list[Value], b: list[Value]) -> bool:
    work.container(len(a))
    if len(a) != len(b):
        return False
    failure: EvaluationError | None = None
    for first, second in zip(a, b, strict=True):
        try:
            if not equal(first, second):
                return False
        except EvaluationError as error:
            failure = failure or error
    if failure is not None and type(a) is Joined:  # other lists take elements that cannot be compared for equal
        raise failure
    return True


def _equal_maps(a: Map, b: Map) -> bool:
    work.container(len(a))
    if len(a) != len(b):
        return False
    for key, value in zip(a.cel_keys(), a.values(), strict=True):
        other = b.look_up(key)
        if other is MISSING:
            return False
        try:
            if not equal(value, other):
                return False
        except EvaluationError:
            continue
    return True


def _equal_optionals(a: Optional, b: Optional) -> bool:
    if a.value is MISSING or b.value is MISSING:
        return a.value is b.value
    return same(a.value, b.value)


_EQUALITIES: Final[tuple[tuple[frozenset[type], Callable[[Value, Value], bool]], ...]] = (
    (NUMBERS, _equal_numbers),
    (LISTS, _equal_lists),
    (MAPS, _equal_maps),
    (frozenset((Optional,)), _equal_optionals),
    (frozenset((Type,)), lambda a, b: a.name == b.name),
    (frozenset((type(None),)), lambda _, __: True),
)


def contains(elements: list[Value], value: Value) -> bool:
    """Tell whether a list has an element equal to the value; elements that cannot be compared with it are not."""
    work.container(len(elements))
    for element in elements:
        try:
            if same(value, element):
                return True
        except EvaluationError:
            continue
    return False


def is_in(value: Value, container: Value) -> bool:
    """Tell whether ``value in container`` for lists and maps. Raises ``EvaluationError`` for others."""
    cls = type(container)
    if cls in LISTS:
        return contains(container, value)
    if cls in MAPS:
        return has_key(container, value)
    raise no_such_overload()


def has_key(entries: Map, key: Value) -> bool:
    """Tell whether the map has the key; the default of ``device.attributes`` does not count."""
    if isinstance(entries, Named):
        return type(key) is str and key in entries
    return entries.look_up(key) is not MISSING


def _unordered(a: Value, b: Value) -> bool:
    return (type(a) is float and isnan(a)) or (type(b) is float and isnan(b))


def _compare_numbers(a: float, b: float) -> int:
    if type(a) is float or type(b) is float:
        if type(a) is not float:
            return -_compare_numbers(b, a)
        low, high = (0.0, float(UINT_MAX)) if type(b) is Uint else (float(INT_MIN), float(INT_MAX))
        if type(b) is not float and not low <= a <= high:
            return -1 if a < low else 1
        b = float(b)
    return (a > b) - (a < b)


def compare(a: Value, b: Value) -> int:
    """Give -1, 0 or 1 for values that have an order. Raises ``EvaluationError`` for others, and for NaN."""
    cls = type(a)
    if cls in NUMBERS:
        if type(b) not in NUMBERS:
            raise no_such_overload()
        if _unordered(a, b):
            raise EvaluationError("NaN values cannot be ordered")
        return _compare_numbers(a, b)
    if cls not in _ORDERED or cls is not type(b):
        raise no_such_overload()
    if cls in (str, bytes):
        work.characters(min(len(a), len(b)))
    if cls is str:
        a, b = a.encode("utf-8", "surrogatepass"), b.encode("utf-8", "surrogatepass")
    return int(a > b) - int(a < b)


def is_ordered(value: Value) -> bool:
    """Tell whether values of this type have an order."""
    return type(value) in _ORDERED


_BOUNDS: Final[dict[type, tuple[int, int, str]]] = {
    int: (INT_MIN, INT_MAX, "integer overflow"),
    Uint: (0, UINT_MAX, "unsigned integer overflow"),
    Duration: (INT_MIN, INT_MAX, "integer overflow"),
    Timestamp: (-62135596800 * 10**9, 253402300799 * 10**9 + 999_999_999, "timestamp overflow"),
}


def bounded(cls: type, value: int) -> Value:
    """Make a number of the class. Raises ``EvaluationError`` beyond its range."""
    low, high, message = _BOUNDS[cls]
    if not low <= value <= high:
        raise EvaluationError(message)
    return value if cls is int else cls(value)


def add(a: Value, b: Value) -> Value:
    """Give ``a + b`` of numbers, strings, bytes, lists, durations and points in time. Raises ``EvaluationError``."""
    cls = type(a)
    if cls is type(b):
        if cls in _BOUNDS and cls is not Timestamp:
            return bounded(cls, int(a) + int(b))
        if cls is float:
            return a + b
        if cls in (str, bytes):
            work.characters(len(a) + len(b))
            return a + b
    if cls in LISTS and type(b) in LISTS:
        return _join(a, b)
    if {cls, type(b)} == {Duration, Timestamp}:
        return _moved(a if cls is Timestamp else b, int(b if cls is Timestamp else a))
    raise no_such_overload()


def _join(a: list[Value], b: list[Value]) -> list[Value]:
    if type(a) is Growing:
        a.extend(b)
        return a
    if not a or not b:
        return a or b
    work.elements(len(a) + len(b))
    return Joined((*a, *b))


def _moved(moment: Timestamp, nanoseconds: int) -> Timestamp:
    moved: Timestamp = bounded(Timestamp, int(moment) + nanoseconds)
    return moved.at(moment.offset)


def subtract(a: Value, b: Value) -> Value:
    """Give ``a - b``. Raises ``EvaluationError``."""
    cls, other = type(a), type(b)
    if cls is other:
        if cls is float:
            return a - b
        if cls is Timestamp:
            return bounded(Duration, int(a) - int(b))
        if cls in _BOUNDS:
            return bounded(cls, int(a) - int(b))
    if cls is Timestamp and other is Duration:
        return _moved(a, -int(b))
    raise no_such_overload()


def multiply(a: Value, b: Value) -> Value:
    """Give ``a * b`` of numbers. Raises ``EvaluationError``."""
    cls = type(a)
    if cls is not type(b) or cls not in NUMBERS:
        raise no_such_overload()
    return a * b if cls is float else bounded(cls, int(a) * int(b))


def divide(a: Value, b: Value) -> Value:
    """Give ``a / b``; integers are rounded towards zero. Raises ``EvaluationError``."""
    cls = type(a)
    if cls is not type(b) or cls not in NUMBERS:
        raise no_such_overload()
    if cls is float:
        return _divide_doubles(a, b)
    if b == 0:
        raise EvaluationError("division by zero")
    quotient = abs(int(a)) // abs(int(b))
    return bounded(cls, quotient if (a < 0) == (b < 0) else -quotient)


def _divide_doubles(a: float, b: float) -> float:
    if b:
        return a / b
    if isnan(b) or isnan(a) or a == 0:
        return nan
    return inf if (a > 0) == (str(b)[0] != "-") else -inf


def modulo(a: Value, b: Value) -> Value:
    """Give ``a % b`` with the sign of ``a``. Raises ``EvaluationError``."""
    cls = type(a)
    if cls is not type(b) or cls not in (int, Uint):
        raise no_such_overload()
    if b == 0:
        raise EvaluationError("modulus by zero")
    if a == INT_MIN and b == -1:
        raise EvaluationError("integer overflow")
    rest = abs(int(a)) % abs(int(b))
    return bounded(cls, rest if a >= 0 else -rest)


def negate(a: Value) -> Value:
    """Give ``-a`` of an int, double or duration. Raises ``EvaluationError``."""
    if type(a) is float:
        return -a
    if type(a) in (int, Duration):
        return bounded(type(a), -int(a))
    raise no_such_overload()


class Members:
    """The constants of ``x in [1, 2]``: found by hashing, as cel-go does where all are numbers, strings or booleans."""

    __slots__ = ("_keys",)

    def __init__(self, elements: list[Value]) -> None:
        self._keys = {key for element in elements for key in _equal_keys(element)}

    @staticmethod
    def fit(elements: list[Value]) -> bool:
        """Tell whether a list of constants is searched in this way."""
        return all(type(element) in (bool, int, Uint, float, str) for element in elements)

    def holds(self, value: Value) -> bool:
        """Tell whether the value is one of them. Raises ``Abort`` for values that cannot be hashed."""
        key = key_of(value)
        return type(value) in _HASHED and key in self._keys


_HASHED: Final = frozenset((bool, int, Uint, float, str))


def _equal_keys(element: Value) -> list[Value]:
    cls = type(element)
    if cls is float:
        if isnan(element):
            return []
        whole = element.is_integer() and -(2.0**63) <= element < 2.0**64
        return [key_of(element), *([(int, int(element)), (Uint, int(element))] if whole else [])]
    keys = [key_of(element)]
    if cls in (int, Uint):
        keys += [(float, float(element)), (int, int(element)), (Uint, int(element))]
    return keys
