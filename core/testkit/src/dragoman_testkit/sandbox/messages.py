"""Protobuf messages without a compiler, for the few that only stand-ins and tests need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Fields = Mapping[str, tuple[int, str]]
"""Number and type by field: a scalar's name, a message of the same package, ``[...]`` for several, ``{}`` for a map of
strings."""

_FIELD = descriptor_pb2.FieldDescriptorProto
_ENTRY: Fields = {"key": (1, "string"), "value": (2, "string")}


def make(package: str, messages: Mapping[str, Fields]) -> dict[str, Any]:
    """Make the classes of these messages, by name."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            _add(message, f".{package}", field, number, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}


def _add(message: descriptor_pb2.DescriptorProto, package: str, field: str, number: int, kind: str) -> None:
    several = kind.startswith(("[", "{"))
    added = message.field.add(name=field, number=number, label=_FIELD.LABEL_REPEATED if several else 1)
    if kind == "{}":
        entry = message.nested_type.add(name=f"{field.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        for name, (place, scalar) in _ENTRY.items():
            _add(entry, package, name, place, scalar)
        added.type, added.type_name = _FIELD.TYPE_MESSAGE, f"{package}.{message.name}.{entry.name}"
        return
    kind = kind.strip("[]")
    if kind[0].islower():
        added.type = _FIELD.Type.Value(f"TYPE_{kind.upper()}")
    else:
        added.type, added.type_name = _FIELD.TYPE_MESSAGE, f"{package}.{kind}"
