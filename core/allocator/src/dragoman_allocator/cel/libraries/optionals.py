"""Optional values; ``or`` and ``orValue`` are evaluated by the planner, since they may leave their argument alone."""

from __future__ import annotations

from typing import Final

from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.functions import function, method
from dragoman_allocator.cel.values import LISTS, MAPS, MISSING, NONE, Duration, Optional, Timestamp, Uint, Value

_ZERO_IF_FALSE: Final = frozenset((bool, int, Uint, float, str, bytes, Duration, type(None))) | LISTS | MAPS
_FIRST_MOMENT: Final = -62_135_596_800 * 10**9


def _of_non_zero(value: Value) -> Optional:
    """Zero are empty and null values and the first moment of year 1; quantities, versions ... never are."""
    if type(value) is Timestamp:
        return NONE if value == _FIRST_MOMENT else Optional(value)
    return Optional(value) if value or type(value) not in _ZERO_IF_FALSE else NONE


def _value(optional: Optional) -> Value:
    if optional.value is MISSING:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _unwrap(optionals: list[Value]) -> list[Value]:
    for optional in optionals:
        if type(optional) is not Optional:
            raise EvaluationError("value is not optional")
    return [optional.value for optional in optionals if optional.value is not MISSING]


OVERLOADS: Final = (
    function("optional.of", "V -> optional<V>", "optional_of", Optional),
    function("optional.ofNonZeroValue", "V -> optional<V>", "optional_ofNonZeroValue", _of_non_zero),
    function("optional.none", "-> optional<V>", "optional_none", lambda: NONE),
    function("optional.unwrap", "list<optional<V>> -> list<V>", "optional_unwrap", _unwrap),
    method("unwrapOpt", "list<optional<V>> -> list<V>", "optional_unwrapOpt", _unwrap),
    method("value", "optional<V> -> V", "optional_value", _value),
    method("hasValue", "optional<V> -> bool", "optional_hasValue", lambda o: o.value is not MISSING),
    method("or", "optional<V>, optional<V> -> optional<V>", "optional_or_optional"),
    method("orValue", "optional<V>, V -> V", "optional_orValue_value"),
    method("first", "list<V> -> optional<V>", "list_first", lambda v: Optional(v[0]) if v else NONE),
    method("last", "list<V> -> optional<V>", "list_last", lambda v: Optional(v[-1]) if v else NONE),
    function("_[?_]", "list<V>, int -> optional<V>", "list_optindex_optional_int"),
    function("_[?_]", "optional<list<V>>, int -> optional<V>", "optional_list_optindex_optional_int"),
    function("_[?_]", "map<K, V>, K -> optional<V>", "map_optindex_optional_value"),
    function("_[?_]", "optional<map<K, V>>, K -> optional<V>", "optional_map_optindex_optional_value"),
    function("_[_]", "optional<list<V>>, int -> optional<V>", "optional_list_index_int"),
    function("_[_]", "optional<map<K, V>>, K -> optional<V>", "optional_map_index_value"),
)
