"""Attribute values in the form of the API: an object with exactly one of int, bool, string, version or a list."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from dragoman_hookspecs import AttributeValue, JsonObject, Version


def attribute_json(value: AttributeValue) -> JsonObject:
    """Give ``{"int": 3}``, ``{"strings": ["a", "b"]}`` and the like. An empty tuple has no type and gives ``{}``."""
    if isinstance(value, tuple):
        return {f"{_kind(value[0])}s": [_plain(item) for item in value]} if value else {}
    return {_kind(value): _plain(value)}


def attribute_of_json(item: JsonObject) -> AttributeValue:
    """Give the value again. Raises ``ValueError``, also where a member is of another type than its key says."""
    if not item:
        return ()
    ((kind, value),) = item.items()
    if kind in _TYPES:
        return cast("AttributeValue", _read(kind, value))
    return cast("AttributeValue", tuple(_read(kind.removesuffix("s"), each) for each in msgspec.convert(value, list)))


_TYPES: dict[str, type[bool | int | str]] = {"bool": bool, "int": int, "version": str, "string": str}


def _read(kind: str, value: Any) -> bool | int | str | Version:
    if kind not in _TYPES:
        raise ValueError(f"{kind} is no type of an attribute")
    read = msgspec.convert(value, _TYPES[kind])
    return Version(str(read)) if kind == "version" else read


def _kind(value: bool | int | str | Version) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case Version():
            return "version"
        case _:
            return "string"


def _plain(value: bool | int | str | Version) -> bool | int | str:
    return value.text if isinstance(value, Version) else value
