"""Objects as this plugin keeps them, from plain JSON."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from dragoman_allocator.nulls import without_nulls
from dragoman_hookspecs import JsonObject

_T = TypeVar("_T")


def read(body: JsonObject, kind: type[_T]) -> _T:
    """Read one object. Raises ``msgspec.ValidationError``."""
    try:
        # Through JSON: lean objects keep parts of it unread.
        return msgspec.json.decode(msgspec.json.encode(body), type=kind)
    except RecursionError:
        # What nests so deeply is opaque to the API, and of no concern here.
        return msgspec.convert(without_nulls(kind, body), kind)
