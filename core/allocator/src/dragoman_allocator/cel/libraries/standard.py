"""Operators, ``size``, ``matches`` and the string tests of the language definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dragoman_allocator.cel import operators, regexes
from dragoman_allocator.cel.attributes import step_to
from dragoman_allocator.cel.errors import no_such_overload
from dragoman_allocator.cel.functions import Overload, Run, function, method
from dragoman_allocator.cel.values import LISTS, MAPS, Value

_NUMBER_PAIRS: Final = (
    ("int", "double", "int64_double"),
    ("int", "uint", "int64_uint64"),
    ("uint", "double", "uint64_double"),
    ("uint", "int", "uint64_int64"),
    ("double", "int", "double_int64"),
    ("double", "uint", "double_uint64"),
)
_COMPARED: Final = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_NAMES: Final = {"int": "int64", "uint": "uint64"}


def _orders() -> Iterator[Overload]:
    for sign, name in (("<", "less"), ("<=", "less_equals"), (">", "greater"), (">=", "greater_equals")):
        for kind in _COMPARED:
            yield function(f"_{sign}_", f"{kind}, {kind} -> bool", f"{name}_{_NAMES.get(kind, kind)}")
        for first, second, id_ in _NUMBER_PAIRS:
            yield function(f"_{sign}_", f"{first}, {second} -> bool", f"{name}_{id_}")


def _arithmetic() -> Iterator[Overload]:
    for sign, name, kinds in (
        ("+", "add", ("bytes", "double", "int", "string", "uint")),
        ("-", "subtract", ("double", "int", "uint")),
        ("*", "multiply", ("double", "int", "uint")),
        ("/", "divide", ("double", "int", "uint")),
        ("%", "modulo", ("int", "uint")),
    ):
        for kind in kinds:
            yield function(f"_{sign}_", f"{kind}, {kind} -> {kind}", f"{name}_{_NAMES.get(kind, kind)}")


def _sizes() -> Iterator[Overload]:
    for kind, signature in (("bytes", "bytes"), ("list", "list<A>"), ("map", "map<A, B>"), ("string", "string")):
        yield function("size", f"{signature} -> int", f"size_{kind}")
        yield method("size", f"{signature} -> int", f"{kind}_size")


def _size(value: Value) -> int:
    if type(value) in (str, bytes) or type(value) in LISTS or type(value) in MAPS:
        return len(value)
    raise no_such_overload("size")


def _not(value: Value) -> bool:
    if type(value) is not bool:
        raise no_such_overload()
    return not value


def _order(accepts: Callable[[int], bool]) -> Run:
    return lambda a, b: accepts(operators.compare(a, b))


def _matches(text: Value, pattern: Value) -> bool:
    if type(text) is not str or type(pattern) is not str:
        raise no_such_overload("matches")
    return regexes.matches(text, pattern)


def _string_test(test: Callable[[str, str], bool]) -> Run:
    def run(text: Value, part: Value) -> bool:
        if type(text) is not str or type(part) is not str:
            raise no_such_overload()
        return test(text, part)

    return run


OVERLOADS: Final = (
    function("_?_:_", "bool, A, A -> A", "conditional"),
    function("_&&_", "bool, bool -> bool", "logical_and"),
    function("_||_", "bool, bool -> bool", "logical_or"),
    function("!_", "bool -> bool", "logical_not"),
    function("@not_strictly_false", "bool -> bool", "not_strictly_false"),
    function("_==_", "A, A -> bool", "equals"),
    function("_!=_", "A, A -> bool", "not_equals"),
    *_orders(),
    *_arithmetic(),
    function("_+_", "duration, duration -> duration", "add_duration_duration"),
    function("_+_", "duration, timestamp -> timestamp", "add_duration_timestamp"),
    function("_+_", "timestamp, duration -> timestamp", "add_timestamp_duration"),
    function("_+_", "list<A>, list<A> -> list<A>", "add_list"),
    function("_-_", "duration, duration -> duration", "subtract_duration_duration"),
    function("_-_", "timestamp, duration -> timestamp", "subtract_timestamp_duration"),
    function("_-_", "timestamp, timestamp -> duration", "subtract_timestamp_timestamp"),
    function("-_", "double -> double", "negate_double"),
    function("-_", "int -> int", "negate_int64"),
    function("_[_]", "list<A>, int -> A", "index_list"),
    function("_[_]", "map<A, B>, A -> B", "index_map"),
    function("@in", "A, list<A> -> bool", "in_list"),
    function("@in", "A, map<A, B> -> bool", "in_map"),
    *_sizes(),
    method("contains", "string, string -> bool", "contains_string", _string_test(lambda a, b: b in a), guarded=False),
    method("endsWith", "string, string -> bool", "ends_with_string", _string_test(str.endswith), guarded=False),
    method("startsWith", "string, string -> bool", "starts_with_string", _string_test(str.startswith), guarded=False),
    function("matches", "string, string -> bool", "matches"),
    method("matches", "string, string -> bool", "matches_string"),
    method("find", "string, string -> string", "string_find_string", regexes.find),
    method("findAll", "string, string -> list<string>", "string_find_all_string", regexes.find_all),
    method("findAll", "string, string, int -> list<string>", "string_find_all_string_int", regexes.find_all),
)

SINGLETONS: Final[dict[str, Run]] = {
    "!_": _not,
    "_+_": operators.add,
    "_-_": operators.subtract,
    "_*_": operators.multiply,
    "_/_": operators.divide,
    "_%_": operators.modulo,
    "-_": operators.negate,
    "_<_": _order(lambda order: order < 0),
    "_<=_": _order(lambda order: order <= 0),
    "_>_": _order(lambda order: order > 0),
    "_>=_": _order(lambda order: order >= 0),
    "_[_]": step_to,
    "@in": operators.is_in,
    "size": _size,
    "matches": _matches,
}
