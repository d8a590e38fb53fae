"""JSON null as Kubernetes reads it: the zero value of what stands there, or nothing where nothing is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, TypeAlias

from msgspec import inspect

Mend: TypeAlias = Callable[[Any], Any]

_ZEROS: Final[Mapping[type[inspect.Type], Any]] = {
    inspect.StrType: "",
    inspect.IntType: 0,
    inspect.FloatType: 0.0,
    inspect.BoolType: False,
    inspect.ListType: [],
    inspect.DictType: {},
    inspect.StructType: {},
}


def without_nulls(kind: Any, json: Any) -> Any:
    """Give plain JSON that is to become ``kind`` with zero values for null where the type does not take null.

    What is of another type than ``kind`` says stays as it is; members that no struct has are left out.
    """
    hashable: Any = kind
    return _mend_type(hashable)(json)


@cache
def _mend_type(kind: Any) -> Mend:
    return _mend(inspect.type_info(kind))


def _mend(info: inspect.Type) -> Mend:
    match info:
        case inspect.UnionType(types=types):
            (inner,) = (one for one in types if not isinstance(one, inspect.NoneType))
            return _mend(inner)
        case inspect.StructType(fields=fields):
            required = {field.encode_name: _zero(field.type) for field in fields if field.required}
            return partial(_struct, {field.encode_name: _mend(field.type) for field in fields}, required)
        case inspect.ListType(item_type=item):
            return partial(_list, _mend(item), _zero(item))
        case inspect.DictType(value_type=value):
            return partial(_dict, _mend(value), _zero(value))
        case _:
            return lambda json: json


def _zero(info: inspect.Type) -> Any:
    """Give the plain zero value; None for a type that takes null, as that of quantities does."""
    return _mend(info)(_ZEROS.get(type(info)))


def _struct(members: Mapping[str, Mend], required: Mapping[str, Any], json: Any) -> Any:
    if not isinstance(json, Mapping):
        return json
    given = {name: members[name](value) for name, value in json.items() if name in members and value is not None}
    return {**required, **given}


def _list(mend: Mend, zero: Any, json: Any) -> Any:
    return [zero if item is None else mend(item) for item in json] if isinstance(json, list) else json


def _dict(mend: Mend, zero: Any, json: Any) -> Any:
    if not isinstance(json, Mapping):
        return json
    return {name: zero if value is None else mend(value) for name, value in json.items()}
