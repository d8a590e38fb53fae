"""Faults of decoded data as sentences: from what pydantic found, and from what JSON cannot hold."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dragoman.schema.types import Segment, below, dotted, known_keys, unknown_key
from dragoman_hookspecs import Fault, InvalidConfig

_EXPECTED = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "set_type": "must be a list",
    "frozen_set_type": "must be a list",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "dataclass_type": "must be an object",
    "dataclass_exact_type": "must be an object",
    "none_required": "must be null",
}


def from_errors(hint: Any, data: object, errors: Iterable[Mapping[str, Any]]) -> list[Fault]:
    """Turn the errors of pydantic into faults; those of several union members at one path become one."""
    found: dict[str, list[Fault]] = {}
    for error in errors:
        path = _real_path(data, error)
        for fault in _faults(hint, path, error):
            found.setdefault(fault.path, []).append(fault)
    return [_merge(path, faults) for path, faults in found.items()]


def not_json(value: object, path: tuple[Segment, ...] = ()) -> Iterator[Fault]:
    """Find what JSON cannot hold: keys that are no text, tuples, dates, NaN and other objects."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                yield Fault(dotted(path), f"has a key that is not text: {key!r}; put it in quotes")
            else:
                yield from _text(key, path)
                yield from not_json(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from not_json(item, (*path, index))
    elif isinstance(value, str):
        yield from _text(value, path)
    elif isinstance(value, float) and not math.isfinite(value):
        yield Fault(dotted(path), f"is {value}, which JSON does not have")
    elif value is not None and not isinstance(value, (bool, int, float)):
        hint = "; put it in quotes" if isinstance(value, dt.date) else ""
        yield Fault(dotted(path), f"is a Python {type(value).__name__}, which JSON does not have{hint}")


def shown(value: object) -> str:
    """Show a value in a message, shortened."""
    match value:
        case dict():
            return "an object"
        case list() | tuple() | set() | frozenset():
            return "a list"
        case None | bool() | int() | float() | str():
            text = json.dumps(value, ensure_ascii=False)
            return text if len(text) <= 60 else text[:57] + "..."
    return f"a Python {type(value).__name__}"


def described(error: BaseException) -> str:
    """Write an exception in one line: its type, and its message if it has one."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _text(value: str, path: tuple[Segment, ...]) -> Iterator[Fault]:
    if any("\ud800" <= character <= "\udfff" for character in value):
        yield Fault(dotted(path), "holds bytes that are not UTF-8")


def _real_path(data: Any, error: Mapping[str, Any]) -> tuple[Segment, ...]:
    """Drop the steps that are not in the data: pydantic puts names of union members and key marks into locations."""
    path: list[Segment] = []
    absent = error["type"] in {"missing", "unexpected_keyword_argument"}
    for position, step in enumerate(error["loc"], start=1):
        if _holds(data, step):
            data = data[step]
        elif not absent or position < len(error["loc"]):
            continue
        path.append(step)
    return tuple(path)


def _holds(data: Any, step: Segment) -> bool:
    return step in data if isinstance(data, dict) else isinstance(data, list) and step in range(len(data))


def _faults(hint: Any, path: Sequence[Segment], error: Mapping[str, Any]) -> list[Fault]:
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, InvalidConfig):
        return [Fault(below(dotted(path), fault.path), fault.message) for fault in cause.faults]
    return [Fault(dotted(path), _message(hint, path, error))]


def _message(hint: Any, path: Sequence[Segment], error: Mapping[str, Any]) -> str:
    kind = error["type"]
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(hint, path, error)
    expected = _EXPECTED.get(kind) or error["msg"].replace("Input should", "must")
    return f"{expected}, not {shown(error['input'])}"


def _value_error(_hint: Any, _path: Sequence[Segment], error: Mapping[str, Any]) -> str:
    cause = error["ctx"]["error"]
    return str(cause) or f"is refused ({type(cause).__name__})"


def _choice(_hint: Any, _path: Sequence[Segment], error: Mapping[str, Any]) -> str:
    return f"must be {error['ctx']['expected']}, not {shown(error['input'])}"


_SPECIAL: Mapping[str, Callable[[Any, Sequence[Segment], Mapping[str, Any]], str]] = {
    "missing": lambda _hint, _path, _error: "is missing",
    "unexpected_keyword_argument": lambda hint, path, _error: unknown_key(str(path[-1]), known_keys(hint, path[:-1])),
    "value_error": _value_error,
    "assertion_error": _value_error,
    "enum": _choice,
    "literal_error": _choice,
}


def _merge(path: str, faults: Sequence[Fault]) -> Fault:
    """Join alternatives: ``must be text, not 1.5`` and ``must be null, not 1.5``."""
    messages = list(dict.fromkeys(fault.message for fault in faults))
    ends = {message.rpartition(", not ")[2] for message in messages}
    if len(messages) > 1 and len(ends) == 1 and all(", not " in message for message in messages):
        starts = [message.rpartition(", not ")[0] for message in messages]
        return Fault(path, f"{' or '.join(starts).replace(' or must be', ' or')}, not {ends.pop()}")
    return Fault(path, "; ".join(messages))
