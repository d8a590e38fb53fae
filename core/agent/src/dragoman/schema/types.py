"""What a type annotation of a settings class says about a path: a small walk over dataclasses, mappings and lists."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from dragoman_hookspecs import json_key

Segment = str | int
"""One step of a path: the key of an object, or the index in a list."""


@functools.cache
def field_types(cls: type) -> Mapping[str, Any]:
    """Map the JSON keys of a dataclass, in order, to the annotations of its fields."""
    hints = get_type_hints(cls, include_extras=True)
    return {json_key(field.name): hints[field.name] for field in dataclasses.fields(cls)}


def members(hint: Any) -> Iterator[Any]:
    """Take unions and ``Annotated`` apart."""
    origin = get_origin(hint)
    if origin is Annotated:
        yield from members(get_args(hint)[0])
    elif origin in {Union, types.UnionType}:
        for member in get_args(hint):
            yield from members(member)
    else:
        yield hint


def is_object(hint: Any) -> bool:
    """Tell whether some form of this type is a dataclass."""
    return any(dataclasses.is_dataclass(member) for member in members(hint))


def at(hint: Any, path: Sequence[Segment]) -> list[Any]:
    """Give the types that a value at this path can have; none where the path leads nowhere."""
    hints = list(members(hint))
    for segment in path:
        hints = [member for parent in hints for child in _children(parent, segment) for member in members(child)]
    return hints


def known_keys(hint: Any, path: Sequence[Segment]) -> list[str]:
    """List the keys of the object at this path."""
    classes = [member for member in at(hint, path) if dataclasses.is_dataclass(member)]
    return [key for cls in classes for key in field_types(cls)]  # type: ignore[arg-type]  # annotations are classes


def close_keys(key: str, known: Iterable[str]) -> list[str]:
    """Give up to three keys that a misspelt one may stand for, the closest first."""
    lower = {name.lower(): name for name in known}
    return [lower[name] for name in difflib.get_close_matches(key.lower().replace("_", ""), lower, n=3)]


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Say that a key is not known, and which ones are close."""
    known = list(known)
    if close := close_keys(key, known):
        return f"is not a known key; did you mean {' or '.join(close)}?"
    return f"is not a known key; known are {', '.join(known)}" if known else "is not a known key; none is known here"


def dotted(path: Iterable[Segment]) -> str:
    """Write a path as ``pools[1].filter.vendorIDs[0]``; a key that is no plain word stands in brackets and quotes."""
    text = ""
    for segment in path:
        if isinstance(segment, int):
            text += f"[{segment}]"
        elif segment.replace("-", "_").isidentifier():
            text += f".{segment}" if text else segment
        else:
            text += f'["{segment}"]'
    return text


def below(prefix: str, path: str) -> str:
    """Put a written path below another one."""
    return prefix + path if not prefix or not path or path.startswith("[") else f"{prefix}.{path}"


def _children(hint: Any, segment: Segment) -> list[Any]:
    """Give the type of one part of a value. From the environment an index comes as text."""
    if hint is Any:
        return [Any]
    if dataclasses.is_dataclass(hint):
        known = field_types(hint)  # type: ignore[arg-type]  # annotations are classes
        return [known[segment]] if isinstance(segment, str) and segment in known else []
    origin, args = get_origin(hint), get_args(hint)
    if not isinstance(origin, type) or not args:
        return []
    if issubclass(origin, Mapping):
        return [args[1]]
    if issubclass(origin, (Sequence, Set)) and str(segment).isdigit():
        return _element(args, int(segment))
    return []


def _element(args: Sequence[Any], index: int) -> list[Any]:
    """Give the element type of ``list[X]``, ``tuple[X, ...]`` or ``tuple[X, Y]``."""
    if len(args) == 1 or args[-1] is Ellipsis:
        return [args[0]]
    return list(args[index : index + 1])
