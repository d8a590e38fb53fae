"""Decodes an object as the API server does: by type, without a word about unknown fields but in the list of them.

What comes out is plain: a dict for a struct (fields that are missing, null or the zero value of their type are left
out, structs that cannot be missing are always there), ``Map`` for a map, a list, a text, a number, a truth value,
``Quantity``, ``Instant`` or ``Json``. Two objects are equal for the API server where ``same`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.quantity import InvalidQuantity, parse_text
from dragoman_allocator.texts import well_formed
from dragoman_allocator.validation.instants import Instant
from dragoman_allocator.validation.repetitions import repeated
from dragoman_allocator.validation.types import CORE, GROUP, KINDS, Schema, Type, schema

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT: Final = msgspec.json.Decoder(str)
_BOUNDS: Final = {"int64": 63, "int32": 31}
_INLINE: Final = {"opaque": "DeviceConfiguration"}


TOO_DEEP: Final = "the object is nested too deeply"
MOST_TOLD: Final = 100
"""Unknown fields that are told, in the order of the text, and as many that stand twice."""


class DecodeError(InvalidInput):
    """The object is not of the types that the API has; the text is the API server's."""


class Map(dict[str, Any]):
    """A map of the API, as opposed to a struct."""


class Json(bytes):
    """JSON that the API keeps as it was written (``runtime.RawExtension``)."""


@dataclass(slots=True)
class Reading:
    """A decoded object: the fields of ``value``, and paths of fields that are not known or stand twice, by the text."""

    kind: str
    version: str
    value: JsonObject
    unknown: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)


def read(text: bytes | memoryview) -> Reading:
    """Decode one object. Raises ``DecodeError``."""
    try:
        return _read(msgspec.Raw(well_formed(bytes(text))))
    except RecursionError:
        raise DecodeError(TOO_DEEP) from None


def _read(raw: msgspec.Raw) -> Reading:
    kind, version = _identity(raw)
    reader = _Reader(schema(version))
    value = reader.struct(raw, kind, _Place())
    if reader.mismatch:
        raise DecodeError(reader.mismatch)
    if version == CORE:
        return Reading(kind, version, value)
    unknown = list(dict.fromkeys(reader.unknown))[:MOST_TOLD]
    return Reading(kind, version, value, unknown, repeated(bytes(raw), kind, schema(version))[:MOST_TOLD])


def _identity(raw: msgspec.Raw) -> tuple[str, str]:
    try:
        members = _MEMBERS.decode(raw)
        found = [_TEXT.decode(members.get(name, msgspec.Raw(b'""'))) for name in ("kind", "apiVersion")]
    except msgspec.MsgspecError as error:
        raise DecodeError(f"couldn't get version/kind; json parse error: {error}") from None
    for name, value in zip(("Kind", "apiVersion"), found, strict=True):
        if not value:
            raise DecodeError(f"Object '{name}' is missing in '{bytes(raw).decode(errors='replace')}'")
    kind, api = found
    if api == "v1" and kind in KINDS[CORE]:
        return kind, CORE
    group, _, version = api.rpartition("/")
    if group != GROUP or version == CORE or kind not in KINDS.get(version, ()):
        raise DecodeError(f'no kind "{kind}" is registered for version "{api}" in scheme "pkg/runtime/scheme.go:111"')
    return kind, version


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the reader is: the path for unknown fields, and the one for values of a wrong type, without elements."""

    path: str = ""
    struct: str = ""
    fields: str = ""

    def field(self, struct: str, name: str) -> _Place:
        outer = ".".join(part for part in (self.fields, _INLINE.get(name), name) if part)
        return _Place(f"{self.path}.{name}" if self.path else name, struct, outer)

    def inside(self, key: str) -> _Place:
        return _Place(self.path + key, self.struct, self.fields)

    def mismatch(self, what: str, wanted: str) -> str:
        return f"json: cannot unmarshal {what} into Go struct field {self.struct}.{self.fields} of type {wanted}"


class _Reader:
    """Reads values; keeps the first value of a wrong type and all unknown fields."""

    def __init__(self, types: Schema) -> None:
        self.mismatch = ""
        self.unknown: list[str] = []
        self._types = types

    def struct(self, raw: msgspec.Raw, name: str, place: _Place) -> JsonObject:
        fields, found = self._types[name], {}
        for key, member in _members(raw):
            if key not in fields:
                self.unknown.append(f"{place.path}.{key}" if place.path else key)
                continue
            value = self.value(member, fields[key], place.field(name, key))
            if value is not None:
                found[key] = value
        return self._filled(found, fields)

    def _filled(self, found: JsonObject, fields: Mapping[str, Type]) -> JsonObject:
        for key, kind in fields.items():
            if key not in found and kind.kind in ("struct", "Quantity"):
                found[key] = self.zero(kind)
        return {key: value for key, value in found.items() if fields[key].kind not in _PLAIN or value}

    def zero(self, kind: Type) -> Any:
        """Give what stands for a missing element: an empty struct, text, list …"""
        if kind.kind == "struct":
            return self._filled({}, self._types[kind.name])
        if kind.kind == "Quantity":
            return parse_text("0")
        return {"list": list, "map": Map, "text": str, "bool": bool}.get(kind.kind, int)()

    def value(self, raw: msgspec.Raw, kind: Type, place: _Place) -> Any:
        """Read a value; None for null and for one of a wrong type."""
        text = bytes(raw).strip()
        if text == b"null":
            return None
        if kind.kind == "pointer":
            found = self.value(raw, kind.of, place)
            return self.zero(kind.of) if found is None and kind.of.kind != "Time" else found
        if kind.kind in _WHOLE:
            return _WHOLE[kind.kind](text, place)
        if kind.kind not in _OPENS[text[:1]]:
            self._wrong(text, kind, place)
            return None
        return getattr(self, f"_{kind.kind}")(raw, kind, place)

    def _struct(self, raw: msgspec.Raw, kind: Type, place: _Place) -> JsonObject:
        return self.struct(raw, kind.name, place)

    def _list(self, raw: msgspec.Raw, kind: Type, place: _Place) -> list[Any]:
        items = [self.value(item, kind.of, place.inside(f"[{index}]")) for index, item in enumerate(_ITEMS.decode(raw))]
        return [self.zero(kind.of) if item is None else item for item in items]

    def _map(self, raw: msgspec.Raw, kind: Type, place: _Place) -> Map:
        found = Map()
        for key, member in _members(raw):
            value = self.value(member, kind.of, place.inside(f".{key}"))
            found[key] = self.zero(kind.of) if value is None else value
        return found

    def _text(self, raw: msgspec.Raw, _kind: Type, _place: _Place) -> str:
        return _TEXT.decode(raw)

    def _bool(self, raw: msgspec.Raw, _kind: Type, _place: _Place) -> bool:
        return bytes(raw).strip() == b"true"

    def _int64(self, raw: msgspec.Raw, kind: Type, place: _Place) -> int | None:
        text = bytes(raw).strip()
        limit = 1 << _BOUNDS[kind.kind]
        if re.fullmatch(rb"-?\d{1,19}", text) and -limit <= (number := int(text)) < limit:
            return number
        self._wrong(text, kind, place, exact=True)
        return None

    _int32 = _int64

    def _wrong(self, text: bytes, kind: Type, place: _Place, *, exact: bool = False) -> None:
        what = f"number {text.decode()}" if exact else _what(text)
        self.mismatch = self.mismatch or place.mismatch(what, kind.shown)


def _members(raw: msgspec.Raw) -> list[tuple[str, msgspec.Raw]]:
    return list(_MEMBERS.decode(raw).items())


def _what(text: bytes) -> str:
    names = {b'"': "string", b"{": "object", b"[": "array", b"t": "bool", b"f": "bool"}
    return names.get(text[:1], "number")


def _quantity(text: bytes, _place: _Place) -> Any:
    inner = text[1:-1] if text[:1] == b'"' else text
    try:
        return parse_text(inner.strip().decode())
    except InvalidQuantity:
        raise DecodeError(_refusal(inner.strip().decode())) from None


def _refusal(text: str) -> str:
    """Give the API server's text for what is no quantity."""
    form = re.fullmatch(r"[+-]?0*\d*(?:\.\d*)?([eEinumkKMGTP]*[+-]?\d*)", text, re.ASCII)
    if form is None or not text:
        return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    if re.fullmatch(r"[numkMGTPE]?|[KMGTPE]i|[eE][+-]?\d+", form[1], re.ASCII):
        return "unable to parse numeric part of quantity"
    return "unable to parse quantity's suffix"


def _instant(text: bytes, place: _Place) -> Instant:
    if text[:1] != b'"':
        raise DecodeError(place.mismatch(_what(text), "string"))
    try:
        return Instant.parse(_TEXT.decode(text))
    except ValueError as error:
        raise DecodeError(str(error)) from None


def _json(text: bytes, _place: _Place) -> Json:
    return Json(text)


_WHOLE: Final[Mapping[str, Callable[[bytes, _Place], Any]]] = {"Quantity": _quantity, "Time": _instant, "Raw": _json}
"""Types that read their JSON themselves, whatever it is."""
_PLAIN: Final = frozenset({"text", "int64", "int32", "bool", "Raw", "Time"})
_NUMBERS: Final = frozenset({"int64", "int32"})
_OPENS: Final = {
    b'"': frozenset({"text"}),
    b"{": frozenset({"struct", "map"}),
    b"[": frozenset({"list"}),
    b"t": frozenset({"bool"}),
    b"f": frozenset({"bool"}),
    **dict.fromkeys((digit.to_bytes(1, "big") for digit in b"-0123456789"), _NUMBERS),
}


def same(one: Any, other: Any) -> bool:
    """Tell whether the API server takes two values for equal: an empty list or map is as good as none."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same(one.get(key), other.get(key)) for key in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if _is_empty(one) and _is_empty(other):
        return True
    return type(one) is type(other) and bool(one == other)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, list | Map) and not value)
