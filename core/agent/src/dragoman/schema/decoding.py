"""Strict decoding of JSON-like data into frozen dataclasses: settings of core and plugins, opaque parameters.

Keys are ``dragoman_hookspecs.json_key`` of the field names; an unknown key is refused; types are exact (no ``"yes"``
for a boolean, no ``"3"`` for a number), lists become tuples or frozensets. Every fault is reported with its path, those
that a ``__post_init__`` raises as ``InvalidConfig`` too.

Nobody else knows pydantic.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import json
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import PurePath
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from dragoman.schema.faults import described, from_errors, not_json
from dragoman.schema.types import Segment, at, below, dotted, field_types, is_object, known_keys, unknown_key
from dragoman_hookspecs import DragomanError, Fault, InvalidConfig, JsonObject, json_key

T = TypeVar("T")

_CONFIG = ConfigDict(strict=True, extra="forbid", alias_generator=json_key)
# Results of plugins are objects already, whatever a plugin put into their fields.
_INSTANCES = ConfigDict(strict=True, revalidate_instances="always", arbitrary_types_allowed=True)


class UnusableSchema(DragomanError):
    """A dataclass cannot be decoded from JSON, whatever the data: a fault of the program or of a plugin."""


def decode(cls: type[T], data: object, path: str = "") -> T:
    """Make an instance of a frozen dataclass from JSON-like data.

    ``path`` is put before the paths of the faults. Raises ``InvalidConfig`` with all of them, or ``UnusableSchema``.
    """
    faults = list(json_faults(data))
    hint: Any = cls
    if not faults:
        try:
            instance: T = _adapter(hint).validate_json(json.dumps([data]))[0]
        except ValidationError as error:
            faults = _translate(cls, data, error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # checks of a plugin's class may even raise SystemExit
            raise UnusableSchema(f"a check of {cls.__name__} broke: {described(error)}") from error
        else:
            return instance
    raise InvalidConfig(Fault(below(path, fault.path), fault.message) for fault in faults)


def encode(instance: object) -> JsonObject:
    """Give the JSON object that ``decode`` makes an equal instance of; fields that have their default are left out."""
    assert dataclasses.is_dataclass(instance)
    assert not isinstance(instance, type)
    values = {field: getattr(instance, field.name) for field in dataclasses.fields(instance)}
    return {json_key(field.name): _plain(value) for field, value in values.items() if value != _default(field)}


def keys(cls: type) -> tuple[str, ...]:
    """List the JSON keys of a dataclass, in order of its fields."""
    return tuple(field_types(cls))


def cast(cls: type, path: Sequence[str], text: str) -> Any:
    """Give the JSON value that ``text``, say of an environment variable, means at this path of the schema.

    ``007`` stays text where the field is text; numbers, ``true``, ``false``, lists and objects are written as JSON. An
    object may be partial: it is checked when all layers are merged. Raises ``InvalidConfig``.
    """
    hints = at(cls, path)
    if not hints:
        raise _no_such_place(cls, path)
    value = _meaning(hints, text)
    if isinstance(value, dict) and any(map(is_object, hints)):
        return value
    faults = [fault for hint in hints if (fault := _misfit(hint, value)) is not None]
    if len(faults) == len(hints):
        message = faults[0].message
        hint = " (write it as JSON)" if "must be a list" in message or "must be an object" in message else ""
        raise InvalidConfig.at(below(dotted(path), faults[0].path), message + hint)
    return value


def json_faults(value: object) -> Iterable[Fault]:
    """Find everything in ``value`` that JSON cannot hold; nothing for what survives a file or the ledger unchanged."""
    try:
        return list(not_json(value))
    except RecursionError:
        return [Fault("", "is nested too deeply")]


def misfits(hint: Any, value: object) -> Sequence[Fault]:
    """Check an object that a plugin made against a type, field by field, without changing it."""
    try:
        _adapter(hint, instances=True).validate_python([value])
    except ValidationError as error:
        return [
            Fault(dotted(entry["loc"][1:]), entry["msg"].replace("Input should", "must"))
            for entry in error.errors(include_url=False)
        ]
    return []


def check_schema(cls: type) -> None:
    """Raise ``UnusableSchema`` unless ``cls`` is a dataclass that can be decoded."""
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
        raise UnusableSchema(f"{cls!r} is not a dataclass")
    _adapter(cls)


@functools.cache
def _adapter(hint: Any, *, instances: bool = False) -> TypeAdapter[list[Any]]:
    # A configuration reaches standard dataclasses from around them only, hence the list.
    try:
        adapter = TypeAdapter(list[hint], config=_INSTANCES if instances else _CONFIG)
        adapter.rebuild(raise_errors=True)  # a name that is not known would be left for the first use
    except (PydanticUserError, PydanticUndefinedAnnotation, NameError, TypeError) as error:
        first = str(error).partition("\n")[0]
        raise UnusableSchema(f"the fields of {hint!r} cannot be read from JSON: {first}") from error
    return adapter


def _translate(hint: Any, data: object, error: ValidationError) -> list[Fault]:
    entries = error.errors(include_url=False)
    return from_errors(hint, data, [{**entry, "loc": entry["loc"][1:]} for entry in entries])


def _plain(value: Any) -> Any:
    match value:
        case enum.Enum():
            return value.value
        case PurePath():
            return str(value)
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
        case Set():
            return sorted(map(_plain, value), key=json.dumps)
        case tuple() | list():
            return [_plain(item) for item in value]
    return encode(value) if dataclasses.is_dataclass(value) else value


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _meaning(hints: Sequence[Any], text: str) -> Any:
    """Keep the text where the type takes text, read it as JSON where it does not."""
    if Any not in hints and any(_misfit(hint, text) is None for hint in hints):
        return text
    with contextlib.suppress(ValueError):
        value = json.loads(text)
        if not list(json_faults(value)):
            return value
    return text


def _misfit(hint: Any, value: object) -> Fault | None:
    try:
        _adapter(hint).validate_json(json.dumps([value]))
    except ValidationError as error:
        return _translate(hint, value, error)[0]
    return None


def _no_such_place(cls: type, path: Sequence[Segment]) -> InvalidConfig:
    end = next(end for end in range(1, len(path) + 1) if not at(cls, path[:end]))
    known = known_keys(cls, path[: end - 1])
    return InvalidConfig.at(dotted(path[:end]), unknown_key(str(path[end - 1]), known))
