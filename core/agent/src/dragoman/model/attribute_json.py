"""Attribute values in the form of the API: an object with exactly one of int, bool, string, version or a list."""

from __future__ import annotations

from dragoman_hookspecs import AttributeValue, JsonObject, Version


def attribute_json(value: AttributeValue) -> JsonObject:
    """Give ``{"int": 3}``, ``{"strings": ["a", "b"]}`` and the like. An empty tuple has no type and gives ``{}``."""
    if isinstance(value, tuple):
        return {f"{_kind(value[0])}s": [_plain(item) for item in value]} if value else {}
    return {_kind(value): _plain(value)}


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
