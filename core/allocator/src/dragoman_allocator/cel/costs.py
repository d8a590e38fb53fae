"""What an evaluation costs, in the units of Kubernetes; it ends when the limit is reached (KEP-2876).

A name and every step of ``a.b[c]`` cost 1, a list that is made 10, a map 30, a call what the tables here say. Strings
cost a tenth of their length. The rules are those of cel-go for its own functions and of apiserver for Kubernetes'.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Final, TypeAlias

from dragoman_allocator.cel import work
from dragoman_allocator.cel.errors import Abort, BudgetExceeded
from dragoman_allocator.cel.values import LISTS, MAPS, MISSING, Optional, Value

LIMIT: Final = 1_000_000
NEW_LIST: Final = 10
NEW_MAP: Final = 30
_WHOLE: Final = frozenset((str, bytes)) | LISTS | MAPS

Price: TypeAlias = Callable[[tuple[Value, ...], Value], int]
"""The cost of a call from its arguments and its result."""


class Frame:
    """One evaluation: the device, the variables of loops, and the cost so far."""

    __slots__ = ("cost", "device", "limit", "slots")

    def __init__(self, device: Value, slots: int, limit: int = LIMIT) -> None:
        self.device = device
        self.slots: list[Value] = [MISSING] * slots
        self.cost = 0
        self.limit = limit

    def check(self, coming: int = 0) -> None:
        """End the evaluation where the limit is passed, or would be by the cost to come. Raises ``BudgetExceeded``."""
        if self.cost + coming > self.limit:
            raise BudgetExceeded


def register_size(cls: type, size: Callable[[Value], int]) -> None:
    """Give values of a library's class a size other than 1."""
    _SIZES[cls] = size


_SIZES: Final[dict[type, Callable[[Value], int]]] = {}


def size(value: Value) -> int:
    """Give what counts as the length of a value; 1 for all that have none."""
    cls = type(value)
    if cls in _WHOLE:
        return len(value)
    if cls is Optional and value.value is not MISSING:
        return size(value.value)
    return _SIZES[cls](value) if cls in _SIZES else 1


def _part(length: int, factor: float) -> int:
    return ceil(length * factor)


def traversal(value: Value) -> int:
    """Give the cost of looking at all elements once."""
    cls = type(value)
    if cls in LISTS or cls in MAPS:
        work.container(len(value))
    if cls is str:
        return int(len(value.encode("utf-8", "surrogatepass")) * 0.1)
    if cls is bytes:
        return int(len(value) * 0.1)
    if cls in LISTS:
        return sum(map(traversal, value))
    if cls in MAPS:
        return sum(traversal(key) for key in value.cel_keys()) + sum(map(traversal, value.values()))
    return 1


def _first(factor: float) -> Price:
    return lambda args, _: _part(size(args[0]), factor)


def _shorter(args: tuple[Value, ...], _: Value) -> int:
    return _part(min(size(args[0]), size(args[1])), 0.1)


def _regex(args: tuple[Value, ...], _: Value) -> int:
    return _part(1 + size(args[0]), 0.1) * _part(size(args[1]), 0.25)


def _contains_ip(args: tuple[Value, ...], _: Value) -> int:
    return _part(2 * size(args[0]), 0.1)


def _contains_cidr(args: tuple[Value, ...], result: Value) -> int:
    return _contains_ip(args, result) + _part(size(args[0]), 0.1) + 1


def _flatten(args: tuple[Value, ...], _: Value) -> int:
    depth = args[1] if len(args) == 2 else 1
    if type(depth) is not int:
        raise Abort("internal error: the depth is no int")
    return size(args[0]) * (depth if depth >= 0 else 1) + NEW_LIST + 1


def _compared(position: int) -> Price:
    def price(args: tuple[Value, ...], _: Value) -> int:
        elements = args[position]
        if type(elements) not in LISTS:  # upstream's tracker of costs panics
            raise Abort("internal error: the argument is no list")
        if not elements:
            return NEW_LIST + 1
        factor = 2.1 if type(elements[0]) in (str, bytes) else 2.0
        return int(len(elements) ** 2 * factor) + NEW_LIST + 1

    return price


def _made(_: tuple[Value, ...], result: Value) -> int:
    return size(result) + NEW_LIST + 1


def _product(factor: int) -> Price:
    return lambda args, _: size(args[0]) * size(args[1]) * factor + 1


def _one(_: tuple[Value, ...], __: Value) -> int:
    return 1


BY_OVERLOAD: Final[dict[str, Price]] = {
    "list_slice": _made,
    "lists_range": _made,
    "list_reverse": _made,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _compared(0),
    "list_sets_contains_list": _product(1),
    "list_sets_intersects_list": _product(1),
    "list_sets_equivalent_list": _product(2),
    "cidr_ip": _one,
    "cidr_contains_ip_string": lambda args, result: _contains_ip(args, result) + _part(size(args[1]), 0.1),
    "cidr_contains_cidr_string": lambda args, result: _contains_cidr(args, result) + _part(size(args[1]), 0.1),
}
_SORTED: Final = (
    "int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes",
)  # fmt: skip
for _name in _SORTED:
    BY_OVERLOAD[f"list_{_name}_sort"] = _compared(0)
    BY_OVERLOAD[f"list_{_name}_sortByAssociatedKeys"] = _compared(1)

BY_FUNCTION: Final[dict[str, Price]] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), lambda args, _: traversal(args[0])
    ),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _first(0.1)),
    **dict.fromkeys(("cidr", "ip", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _first(0.1)),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _first(0.2)),
    **dict.fromkeys(("find", "findAll"), _regex),
    "check": lambda _, __: 350_000,
    "join": lambda _, result: _part(size(result), 0.2),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": lambda args, _: _part(1 + size(args[1]), 0.1) * _part(getattr(args[0], "size", 1), 0.25),
}

_BY_STANDARD_OVERLOAD: Final[dict[str, Price]] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string"), lambda args, _: _part(size(args[1]), 0.1)),
    **dict.fromkeys(("string_to_bytes", "bytes_to_string", "strings_quote", "string_format"), _first(0.1)),
    "in_list": lambda args, _: size(args[1]),
    **dict.fromkeys(
        (
            f"{name}_{kind}"
            for name in ("less", "less_equals", "greater", "greater_equals")
            for kind in ("string", "bytes")
        ),
        _shorter,
    ),
    "equals": _shorter,
    "not_equals": _shorter,
    **dict.fromkeys(("add_string", "add_bytes"), lambda args, _: _part(size(args[0]) + size(args[1]), 0.1)),
    **dict.fromkeys(("matches", "matches_string"), _regex),
    "contains_string": lambda args, _: _part(size(args[0]), 0.1) * _part(size(args[1]), 0.1),
}


def price_of(function: str, overload: str | None) -> Price | None:
    """Give the price of a call; None where it always costs 1. The overload is None if the checker found several."""
    by_overload = BY_OVERLOAD.get(overload or "")
    return by_overload or BY_FUNCTION.get(function) or _BY_STANDARD_OVERLOAD.get(overload or "")
