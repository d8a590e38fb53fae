"""What calls may cost at most, and how large their results may be, by overload and by function.

The rules are those of cel-go's ``checker/cost.go`` and ``ext/lists.go``, and of Kubernetes'
``k8s.io/apiserver/pkg/cel/library/cost.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple, TypeAlias

from dragoman_allocator.cel.spans import FREE, LARGEST, ONE, UNKNOWN, Span
from dragoman_allocator.cel.types import BYTES, CIDR, FORMAT, IP, QUANTITY, SEMVER, STRING, URL, Type

SCAN: Final = 0.1
"""For every character that is looked at."""
REGEX: Final = 0.25
"""For every character of a regular expression, and every character that it is applied to."""
FORMAT_SIZE: Final = 64
FORMAT_REGEX_SIZE: Final = 128
_NEW_LIST: Final = Span(11, 11)
_ADDRESS: Final = Span(4, 16)


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument: its type, size if known, value if it is written, and the size of items that are a device's."""

    type: Type
    size: Span | None
    literal: Any
    items: Span | None

    @property
    def sized(self) -> Span:
        """The size, or everything that it may be."""
        return UNKNOWN if self.size is None else self.size


class Estimate(NamedTuple):
    """The cost of a call without its arguments, and the size of the result if it is known."""

    cost: Span
    size: Span | None = None


Price: TypeAlias = Callable[[str, Operand | None, list[Operand]], Estimate | None]


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in the order in which they are looked for; the last ones are those of the language itself."""

    overloads: Mapping[str, Price]
    functions: Mapping[str, Price]
    standard: Mapping[str, Price]

    def ordered(self, overload: str, function: str) -> tuple[tuple[Mapping[str, Price], str], ...]:
        """Give tables, and what is looked up in each."""
        return (self.overloads, overload), (self.functions, function), (self.standard, overload)


def _one(_: str, __: Operand | None, ___: list[Operand]) -> Estimate:
    return Estimate(ONE)


def _scan_argument(factor: float, *, sized: bool = False) -> Price:
    def price(_: str, __: Operand | None, args: list[Operand]) -> Estimate | None:
        return Estimate(args[0].sized.times(factor), args[0].sized if sized else None) if args else None

    return price


def _scan_target(_: str, target: Operand | None, __: list[Operand]) -> Estimate | None:
    return None if target is None else Estimate(target.sized.times(SCAN), target.sized)


def _format(_: str, target: Operand | None, __: list[Operand]) -> Estimate | None:
    """Give the price of reading the template; the text that comes of it may be of any size."""
    return None if target is None else Estimate(target.sized.times(SCAN))


def _list_function(*, includes: bool = False) -> Price:
    def price(_: str, target: Operand | None, __: list[Operand]) -> Estimate | None:
        if target is None:
            return None
        if target.type.params:
            each = ONE
            if target.type.params[0] in (STRING, BYTES):
                each += (UNKNOWN if target.items is None else target.items).times(SCAN)
            return Estimate(target.sized * each)
        return Estimate(target.sized if includes else target.sized.times(SCAN))

    return price


def _replace(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.sized, args[0].sized, args[1].sized
    most, kept_most = _replaced(size.most, old.least, new.most <= old.least)
    least, kept_least = _replaced(size.least, old.most, old.most <= new.least)
    result = Span(least, most) * new + Span(kept_least, kept_most)
    return Estimate(size.times(2 * SCAN), result)


def _replaced(size: int, old: int, none: bool) -> tuple[int, int]:
    """Give how often a text of this size is found in another, and how much of that stays."""
    if old == 0:
        return min(size + 1, LARGEST), size
    return (0, size) if none else (min(ceil(float(size) / float(old)), LARGEST), 0)


def _split(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None:
        return None
    limit = args[1].literal if len(args) > 1 else None
    most = limit % 2**64 if type(limit) is int else target.sized.most
    return Estimate(target.sized.times(2 * SCAN), Span(0, most))


def _join(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None:
        return None
    size = FREE
    if target.type.params:
        size = target.sized * (UNKNOWN if target.items is None else target.items)
    if args:
        size += args[0].sized * Span(max(target.sized.least - 1, 0), max(target.sized.most - 1, 0))
    return Estimate(size.times(SCAN), size)


def _find(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None or not args:
        return None
    return Estimate(_regex(target.sized, args[0].sized), Span(0, target.sized.most))


def _regex(text: Span, pattern: Span) -> Span:
    return (text + ONE).times(SCAN) * pattern.times(REGEX)


def _ip(overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return Estimate(ONE) if overload == "cidr_ip" else _scan_argument(SCAN)(overload, target, args)


def _contains_ip(overload: str, _: Operand | None, args: list[Operand]) -> Estimate | None:
    cost = (_ADDRESS + _ADDRESS).times(SCAN)
    return Estimate(cost + args[0].sized.times(SCAN) if overload == "cidr_contains_ip_string" else cost)


def _contains_cidr(overload: str, _: Operand | None, args: list[Operand]) -> Estimate | None:
    cost = (_ADDRESS + _ADDRESS).times(SCAN) + _ADDRESS.times(SCAN) + ONE
    return Estimate(cost + args[0].sized.times(SCAN) if overload == "cidr_contains_cidr_string" else cost)


def _validate(_: str, __: Operand | None, args: list[Operand]) -> Estimate | None:
    return Estimate(args[0].sized.times(SCAN).times(FORMAT_REGEX_SIZE * REGEX))


def _equal(_: str, __: Operand | None, args: list[Operand]) -> Estimate | None:
    """Give the price of comparing Kubernetes' own types; None for all others."""
    left, right = args
    if left.type != right.type:
        return None
    if left.type in (IP, CIDR, QUANTITY, SEMVER):
        return Estimate(ONE)
    if left.type == FORMAT:
        return Estimate(Span(1, FORMAT_SIZE).times(SCAN))
    if left.type == URL:
        return Estimate(Span(1, 1 if right.size is None else right.size.most).times(SCAN))
    return None


def _number(operand: Operand, default: int) -> int:
    return max(operand.literal, 0) if type(operand.literal) is int else default


def _made(size: Span, factor: float = 1) -> Estimate:
    return Estimate(size.times(factor) + _NEW_LIST, size)


def _slice(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    if target is None:
        return None
    size = (_number(args[1], target.sized.most) - _number(args[0], 0)) % 2**64
    return _made(Span(size, size))


def _flatten(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return None if target is None else _made(target.sized, _number(args[0], LARGEST) if args else 1)


def _range(_: str, __: Operand | None, args: list[Operand]) -> Estimate | None:
    size = _number(args[0], LARGEST)
    return _made(Span(size, size))


def _reverse(_: str, target: Operand | None, __: list[Operand]) -> Estimate | None:
    return None if target is None else _made(target.sized)


def _compared(factor: float, *, by: bool = False) -> Price:
    def price(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
        operand = args[0] if by else target
        return None if operand is None else _made(operand.sized * operand.sized, factor)

    return price


def _sets(factor: float) -> Price:
    return lambda _, __, args: Estimate((args[0].sized * args[1].sized).times(factor) + ONE)


_COMPARABLE: Final = (
    *("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp"),
    *("string", "bytes"),
)


def _sorting(name: str, *, by: bool) -> Price:
    return _compared(2.1 if name in ("string", "bytes") else 2.0, by=by)


def _converted(least: Callable[[int], int], most: Callable[[int], int]) -> Price:
    def price(_: str, __: Operand | None, args: list[Operand]) -> Estimate | None:
        size = args[0].sized
        return Estimate(size.times(SCAN), Span(least(size.least) % 2**64, most(size.most) % 2**64))

    return price


def _matches(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    text, pattern = (args[0], args[1]) if target is None else (target, args[0])
    return Estimate(_regex(text.sized, pattern.sized))


def _contains(_: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    return None if target is None else Estimate(target.sized.times(SCAN) * args[0].sized.times(SCAN))


def _shorter(_: str, __: Operand | None, args: list[Operand]) -> Estimate | None:
    most = min(args[0].sized.most, args[1].sized.most)
    return Estimate(Span(min(most, 1), most).times(SCAN))


def _added(overload: str, _: Operand | None, args: list[Operand]) -> Estimate | None:
    size = args[0].sized + args[1].sized
    return Estimate(ONE if overload == "add_list" else size.times(SCAN), size)


def _all(names: str, price: Price) -> dict[str, Price]:
    return dict.fromkeys(names.split(), price)


_ORDERINGS: Final = [
    f"{name}_{kind}" for name in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")
]

PRICES: Final = Prices(
    overloads={
        "list_slice": _slice,
        "list_flatten": _flatten,
        "list_flatten_int": _flatten,
        "lists_range": _range,
        "list_reverse": _reverse,
        "list_distinct": _compared(2.0),
        "list_sets_contains_list": _sets(1),
        "list_sets_intersects_list": _sets(1),
        "list_sets_equivalent_list": _sets(2),
        **{f"list_{name}_sort": _sorting(name, by=False) for name in _COMPARABLE},
        **{f"list_{name}_sortByAssociatedKeys": _sorting(name, by=True) for name in _COMPARABLE},
    },
    functions={
        **_all("isSorted sum max min indexOf lastIndexOf", _list_function()),
        "includes": _list_function(includes=True),
        "url": _scan_argument(SCAN, sized=True),
        **_all("lowerAscii upperAscii substring trim", _scan_target),
        "replace": _replace,
        "split": _split,
        "join": _join,
        **_all("find findAll", _find),
        **_all("cidr isIP isCIDR quantity isQuantity semver isSemver", _scan_argument(SCAN)),
        "ip": _ip,
        "ip.isCanonical": _scan_argument(2 * SCAN),
        "containsIP": _contains_ip,
        "containsCIDR": _contains_cidr,
        "validate": _validate,
        **_all("masked prefixLength family isUnspecified isLoopback format.named name namespace path group", _one),
        **_all("isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast major minor patch", _one),
        **_all("sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub", _one),
        **_all("getScheme getHostname getHost getPort getEscapedPath getQuery", _one),
        "_==_": _equal,
    },
    standard={
        "string_format": _format,
        "string_to_bytes": _converted(lambda least: least, lambda most: most * 4),
        "bytes_to_string": _converted(lambda least: least // 4, lambda most: most),
        "strings_quote": _converted(lambda least: least + 2, lambda most: most * 2 + 2),
        **_all("starts_with_string ends_with_string", _scan_argument(SCAN)),
        "in_list": lambda _, __, args: Estimate(args[1].sized.times(1)),
        **_all("matches matches_string", _matches),
        "contains_string": _contains,
        **_all("add_string add_bytes add_list", _added),
        **dict.fromkeys([*_ORDERINGS, "equals", "not_equals"], _shorter),
    },
)
