"""Rows as JSON documents and back, without loss.

Most of a row is what msgspec reads from its annotations. It cannot tell apart the members of a few unions once they
are JSON; those fields have a form of their own here, looked up by their annotation, so that a field added to a row
elsewhere is stored without a change in this module.

A document leaves out what its columns hold. Keys that this program does not know are ignored and keys that are absent
take their default: a document of another minor release can be read either way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import msgspec

from dragoman_hookspecs import (
    AttributeValue,
    Device,
    DragomanError,
    FilterValue,
    InPlace,
    Link,
    Match,
    Prepared,
    Target,
)
from dragoman_hookspecs import Version as SemanticVersion

T = TypeVar("T")


class NotStorable(DragomanError):
    """A row holds something that JSON cannot hold."""


class Malformed(ValueError):
    """A document is not one of the type asked for."""


def dump(value: Any, *, without: Iterable[str] = ()) -> bytes:
    """Encode a dataclass as a JSON document, without the fields that are kept elsewhere. Raises ``NotStorable``."""
    try:
        return msgspec.json.encode(_take_apart(value, frozenset(without)))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotStorable(f"{type(value).__name__} cannot be stored as JSON: {error}") from error


def load(type_: type[T], document: bytes, **kept: Any) -> T:
    """Decode what ``dump`` gave; ``kept`` are the fields that were left out. Raises ``Malformed``."""
    try:
        return cast("T", _put_together(type_, msgspec.json.decode(document), **kept))
    except (msgspec.MsgspecError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise Malformed(f"not a document of {type_.__name__}: {error}") from error


@cache
def _fields(type_: Any) -> Mapping[str, Any]:
    hints = get_type_hints(type_)
    return {field.name: hints[field.name] for field in dataclasses.fields(type_)}


def _take_apart(value: Any, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    type_: Any = type(value)
    hints = _fields(type_)
    return {name: _form(hint).encode(getattr(value, name)) for name, hint in hints.items() if name not in without}


def _put_together(type_: Any, document: Mapping[str, Any], **kept: Any) -> Any:
    hints = _fields(type_)
    fields = {name: _form(hints[name]).decode(item) for name, item in document.items() if name in hints}
    return type_(**fields | kept)


@dataclasses.dataclass(frozen=True, slots=True)
class _Form:
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


@cache
def _form(hint: Any) -> _Form:
    return _FORMS.get(hint) or _Form(lambda value: value, lambda item: msgspec.convert(item, hint))


def _attribute_to_json(value: AttributeValue) -> Any:
    if isinstance(value, tuple):
        return [_attribute_to_json(member) for member in value]
    return {"version": value.text} if isinstance(value, SemanticVersion) else value


def _attribute_of_json(item: Any) -> AttributeValue:
    if isinstance(item, list):
        return cast("AttributeValue", tuple(_attribute_of_json(member) for member in item))
    if isinstance(item, dict):
        return SemanticVersion(msgspec.convert(item["version"], str))
    return msgspec.convert(item, bool | int | str)


def _filter_to_json(value: FilterValue) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return {"match": value.value} if isinstance(value, Match) else value


def _filter_of_json(item: Any) -> FilterValue:
    if isinstance(item, dict):
        return Match(item["match"])
    return msgspec.convert(item, str | frozenset[str])


def _target_to_json(value: Target) -> Any:
    match value:
        case Link():
            return {"link": value}
        case InPlace():
            return {"inPlace": value}
    return None


def _target_of_json(item: Any) -> Target:
    if item is None:
        return None
    if "link" in item:
        return msgspec.convert(item["link"], Link)
    return msgspec.convert(item["inPlace"], InPlace)


def _each(form: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda items: {name: form(item) for name, item in items.items()}


def _maybe(form: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda item: None if item is None else form(item)


_FORMS: Mapping[Any, _Form] = {
    Mapping[str, AttributeValue]: _Form(_each(_attribute_to_json), _each(_attribute_of_json)),
    Mapping[str, FilterValue]: _Form(_each(_filter_to_json), _each(_filter_of_json)),
    Target: _Form(_target_to_json, _target_of_json),
    Device: _Form(_take_apart, lambda item: _put_together(Device, item)),
    Prepared | None: _Form(_maybe(_take_apart), _maybe(lambda item: _put_together(Prepared, item))),
}
