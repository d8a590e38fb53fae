"""Members that stand twice in the text of an object, which the API server tells beside fields that it does not know.

Its decoder looks into structs and maps of the API only: what it keeps as it was written, such as parameters, may repeat
members. Of members that stand twice the last one counts here; the API server puts structs and maps together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dragoman_allocator.validation.types import Schema, Type


class _Members(tuple[tuple[str, Any], ...]):
    """An object of JSON: all its members, in the order of the text."""

    __slots__ = ()


def repeated(text: bytes, kind: str, types: Schema) -> list[str]:
    """Give the paths of members that stand more than once in an object of this kind."""
    found = False

    def members(pairs: list[tuple[str, Any]]) -> _Members:
        nonlocal found
        found = found or len(pairs) != len(dict(pairs))
        return _Members(pairs)

    try:
        whole = json.loads(text, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return []  # it does not decode as the API either
    return list(dict.fromkeys(_paths(whole, Type("struct", kind), types, ""))) if found else []


def _paths(value: Any, kind: Type, types: Schema, path: str) -> Iterator[str]:
    while kind.kind == "pointer":
        kind = kind.of
    if kind.kind == "list" and type(value) is list:
        for index, item in enumerate(value):
            yield from _paths(item, kind.of, types, f"{path}[{index}]")
    elif kind.kind in ("struct", "map") and isinstance(value, _Members):
        seen: set[str] = set()
        for key, member in value:
            inner = types[kind.name].get(key) if kind.kind == "struct" else kind.of
            if inner is None:
                continue
            at = f"{path}.{key}" if path else key
            if key in seen:
                yield at
            seen.add(key)
            yield from _paths(member, inner, types, at)
