"""Lists.

Cel-go's extension version 3, its sets, the insertion into maps that macros use, and Kubernetes' own list functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key
from typing import Final

from dragoman_allocator.cel import operators, work
from dragoman_allocator.cel.attributes import printed
from dragoman_allocator.cel.errors import EvaluationError, no_such_overload
from dragoman_allocator.cel.functions import Overload, Run, function, method
from dragoman_allocator.cel.operators import compare, contains, is_ordered, same
from dragoman_allocator.cel.values import LISTS, MISSING, Duration, GrowingMap, Map, Uint, Value, key_of

_COMPARABLE: Final = (
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("bool", "bool"),
    ("duration", "google.protobuf.Duration"),
    ("timestamp", "google.protobuf.Timestamp"),
    ("string", "string"),
    ("bytes", "bytes"),
)
LONGEST: Final = 1_000_000
"""The longest list that ``lists.range`` makes."""
_SUMMABLE: Final = (("int", 0), ("uint", Uint(0)), ("double", 0.0), ("duration", Duration(0)))


def _equal(a: Value, b: Value) -> bool:
    try:
        return same(a, b)
    except EvaluationError:
        return False


def _order(a: Value, b: Value) -> int:
    """Compare; values that have no order count as neither less nor greater."""
    try:
        return compare(a, b)
    except EvaluationError:
        return 0


def _slice(elements: list[Value], start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(elements) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    return list(elements[start:end])


def _flatten(elements: Value, depth: Value = 1) -> list[Value]:
    if type(elements) not in LISTS or type(depth) is not int:
        raise no_such_overload("flatten")
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    work.container(len(elements))
    flat: list[Value] = []
    for element in elements:
        if depth and type(element) in LISTS:
            flat += _flatten(element, depth - 1)
        else:
            flat.append(element)
    return flat


def _sort_by_keys(elements: list[Value], keys: list[Value]) -> list[Value]:
    if len(elements) != len(keys):
        raise EvaluationError("@sortByAssociatedKeys() expected a list of the same size as the associated keys list")
    if not elements:
        return elements
    if not is_ordered(keys[0]):
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    work.elements(len(keys) * len(keys).bit_length())
    by_key = cmp_to_key(_order)
    positions = sorted(range(len(keys)), key=lambda at: by_key(keys[at]))
    return [elements[at] for at in positions]


def _sort(elements: Value) -> list[Value]:
    if type(elements) not in LISTS:
        raise no_such_overload("sort")
    return _sort_by_keys(elements, elements)


def _sort_by(elements: Value, keys: Value) -> list[Value]:
    if type(elements) not in LISTS:
        raise no_such_overload("@sortByAssociatedKeys")
    return _sort_by_keys(elements, keys)


def _range(count: int) -> list[int]:
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > LONGEST:
        raise EvaluationError(f"lists.range: size {count} exceeds maximum allowed ({LONGEST})")
    work.elements(count)
    return list(range(count))


def _distinct(elements: list[Value]) -> list[Value]:
    unique: list[Value] = []
    for position, element in enumerate(elements):
        work.elements(len(unique))
        if not any(_equal(element, other) for at, other in enumerate(unique) if at != position):
            unique.append(element)
    return unique


def _set_contains(elements: list[Value], wanted: list[Value]) -> bool:
    return all(contains(elements, value) for value in wanted)


def _map_insert(entries: Map, key: Value, value: Value) -> Map:
    if entries.look_up(key) is not MISSING:
        raise EvaluationError(f"insert failed: key {printed(key)} already exists")
    target = entries if type(entries) is GrowingMap else Map(entries)
    target[key_of(key)] = value
    return target


def _map_insert_all(entries: Map, others: Map) -> Map:
    for key, value in zip(others.cel_keys(), others.values(), strict=True):
        entries = _map_insert(entries, key, value)
    return entries


def _is_sorted(elements: list[Value]) -> bool:
    for at, element in enumerate(elements):
        if not is_ordered(element):
            raise no_such_overload()
        if at and _order(elements[at - 1], element) > 0:
            return False
    return True


def _sum(zero: Value) -> Run:
    def run(elements: list[Value]) -> Value:
        total = zero
        for element in elements:
            total = operators.add(total, element)
        return total

    return run


def _best(name: str, prefers: int) -> Run:
    def run(elements: list[Value]) -> Value:
        if not elements:
            raise EvaluationError(f"{name} called on empty list")
        if not all(map(is_ordered, elements)):
            raise no_such_overload()
        best = elements[0]
        for element in elements[1:]:
            if _order(best, element) == prefers:
                best = element
        return best

    return run


def _index_of(elements: list[Value], value: Value) -> int:
    return next((at for at, element in enumerate(elements) if _equal(element, value)), -1)


def _last_index_of(elements: list[Value], value: Value) -> int:
    return next((at for at in range(len(elements) - 1, -1, -1) if _equal(elements[at], value)), -1)


def _includes(target: Value, value: Value) -> bool:
    if type(target) in LISTS:
        return any(_equal(element, value) for element in target)
    return _equal(target, value)


def _kubernetes() -> Iterator[Overload]:
    for kind, _ in _COMPARABLE:
        yield method("isSorted", f"list<{kind}> -> bool", f"list_{kind}_is_sorted_bool", _is_sorted)
        yield method("max", f"list<{kind}> -> {kind}", f"list_{kind}_max_{kind}", _best("max", -1))
        yield method("min", f"list<{kind}> -> {kind}", f"list_{kind}_min_{kind}", _best("min", 1))
    for kind, zero in _SUMMABLE:
        yield method("sum", f"list<{kind}> -> {kind}", f"list_{kind}_sum_{kind}", _sum(zero))


def _sorts() -> Iterator[Overload]:
    for kind, name in _COMPARABLE:
        yield method("sort", f"list<{kind}> -> list<{kind}>", f"list_{name}_sort")
        id_ = f"list_{name}_sortByAssociatedKeys"
        yield method("@sortByAssociatedKeys", f"list<T>, list<{kind}> -> list<T>", id_)


OVERLOADS: Final = (
    method("slice", "list<T>, int, int -> list<T>", "list_slice", _slice),
    method("flatten", "list<list<T>> -> list<T>", "list_flatten", _flatten, guarded=False),
    method("flatten", "list<dyn>, int -> list<dyn>", "list_flatten_int", _flatten, guarded=False),
    *_sorts(),
    function("lists.range", "int -> list<int>", "lists_range", _range),
    method("reverse", "list<T> -> list<T>", "list_reverse", lambda elements: elements[::-1]),
    method("distinct", "list<T> -> list<T>", "list_distinct", _distinct),
    function("sets.contains", "list<T>, list<T> -> bool", "list_sets_contains_list", _set_contains),
    function(
        "sets.equivalent",
        "list<T>, list<T> -> bool",
        "list_sets_equivalent_list",
        lambda a, b: _set_contains(a, b) and _set_contains(b, a),
    ),
    function(
        "sets.intersects",
        "list<T>, list<T> -> bool",
        "list_sets_intersects_list",
        lambda a, b: any(contains(b, value) for value in a),
    ),
    function("cel.@mapInsert", "map<K, V>, K, V -> map<K, V>", "@mapInsert_map_key_value", _map_insert),
    function("cel.@mapInsert", "map<K, V>, map<K, V> -> map<K, V>", "@mapInsert_map_map", _map_insert_all),
    *_kubernetes(),
    method("indexOf", "list<A>, A -> int", "list_a_index_of_int", _index_of),
    method("lastIndexOf", "list<A>, A -> int", "list_a_last_index_of_int", _last_index_of),
    method("includes", "dyn, dyn -> bool", "list_includes_dyn_dyn", _includes),
)

SINGLETONS: Final[dict[str, Run]] = {"sort": _sort, "@sortByAssociatedKeys": _sort_by}
