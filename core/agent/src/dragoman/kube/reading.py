"""JSON of the API server as Go reads it, whatever people wrote into their objects.

A server takes opaque parameters and data of devices as they are sent, and shows them so: with bytes that are no text,
halves of surrogate pairs, and nested as deep as 10 KiB allow. One such object must not hide all others of its list.
"""

from __future__ import annotations

import contextlib
import functools
import re
from typing import Any, Final, TypeVar

import msgspec
from loguru import logger

from dragoman_allocator.texts import well_formed

LEVELS: Final = 200
"""Arrays and objects within each other that are read of a text.

How deep a decoder goes by itself depends on the interpreter and on who called it, and code that walks what it gave has
limits of its own.
"""
TOO_DEEP: Final = "(nested too deeply to be read)"
"""Stands in the place of what is nested deeper."""

_TOO_DEEP_JSON: Final = f'"{TOO_DEEP}"'.encode()
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_AS_ARRAYS: Final = bytes.maketrans(b"{}", b"[]")
_NEITHER: Final = bytes(set(range(256)) - set(b'[]{}"'))
_TEXT: Final = re.compile(rb'"[^"]*"')

T = TypeVar("T")


class _Shape(msgspec.Struct):
    """A list, an event of a watch, or an object."""

    kind: str = ""
    items: list[msgspec.Raw] | None = None
    object: msgspec.Raw | None = None


class _Head(msgspec.Struct):
    kind: str = ""
    metadata: dict[str, Any] = {}


def read(json: bytes | msgspec.Raw, kind: type[T]) -> T:
    """Decode JSON. What is no text is U+FFFD; where a text is nested too deeply, ``TOO_DEEP`` is put in.

    Raises ``msgspec.DecodeError`` for what is no JSON, or not of the type.
    """
    text = bytes(json)
    if _is_deep(text):
        flat = _flat(well_formed(text))
        found = msgspec.json.decode(flat, type=kind)
        _tell(flat)
        return found
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return msgspec.json.decode(well_formed(text), type=kind)


def is_cut(value: object) -> bool:
    """Tell whether ``TOO_DEEP`` stands in a value that was read."""
    return _TOO_DEEP_JSON in msgspec.json.encode(value)


def _is_deep(text: bytes) -> bool:
    """Tell whether a text is nested too deeply, for less than it costs to decode it: each line takes one pass in C."""
    marks = text.replace(rb"\\", b"").replace(rb"\"", b"").translate(_AS_ARRAYS, _NEITHER)
    # Also where these two are the end of a text and the begin of the next, they enclose as little as before without.
    marks = _TEXT.sub(b"", marks.replace(b'""', b""))
    for _ in range(LEVELS):
        if not marks:
            return False
        marks = marks.replace(b"[]", b"")
    return bool(marks)


def _flat(text: bytes) -> bytes:
    """Put ``TOO_DEEP`` in the place of what is nested too deeply."""
    kept: list[bytes] = []
    depth = begin = 0
    for token in _TOKEN.finditer(text):
        if token[0] in b"{[":
            depth += 1
            if depth == LEVELS + 1:
                kept += text[begin : token.start()], _TOO_DEEP_JSON
        elif token[0] in b"}]":
            depth -= 1
            if depth == LEVELS:
                begin = token.end()
    return b"".join([*kept, text[begin:]])


def _tell(text: bytes) -> None:
    # Some answers are no objects, and have no name.
    with contextlib.suppress(msgspec.DecodeError):
        shape = msgspec.json.decode(text, type=_Shape)
        for each in map(bytes, shape.items or [shape.object or msgspec.Raw(text)]):
            if _TOO_DEEP_JSON in each:
                head = msgspec.json.decode(each, type=_Head)
                names = (str(head.metadata.get(name, "")) for name in ("namespace", "name", "uid"))
                _tell_of(head.kind or shape.kind.removesuffix("List"), *names)


@functools.lru_cache(maxsize=1024)
def _tell_of(kind: str, namespace: str, name: str, _uid: str) -> None:
    """Tell it once of each object."""
    logger.warning(
        "{} {} is read without what is nested more than {} levels deep in it: parameters or data of devices have to be "
        "written flatter",
        kind or "object",
        "/".join(filter(None, (namespace, name))),
        LEVELS,
    )
