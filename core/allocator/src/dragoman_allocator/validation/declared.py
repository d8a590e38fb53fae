"""Rules that the API types declare (KEP-5073), as an interpreter of the table in ``declarations.py``.

Upstream generates one function per struct; here a struct is a row of fields, and a field says what is checked. On
update a field that did not change is not checked again, nor is an item of a list or map that the old one already had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.errors import (
    IMMUTABLE,
    Errors,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from dragoman_allocator.validation.reading import Map, same

Check = Callable[[Any, str], Errors]


@dataclass(frozen=True, slots=True)
class Field:
    """What is declared about a field.

    ``beta`` declarations replace what the rules written by hand say; others stand beside them. ``unique`` names the
    members that tell the items of a list apart (none: the item itself), ``matched`` that an item is compared with the
    old one of the same key.
    ``inline`` fields have no name in paths, ``suffix`` stands behind every item.
    """

    name: str
    required: bool = False
    most: int | None = None
    unique: tuple[str, ...] | None = None
    matched: bool = False
    struct: str = ""
    keys: Check | None = None
    items: Check | None = None
    checks: tuple[Check, ...] = ()
    enum: tuple[str, ...] = ()
    fixed: bool = False
    set_once: bool = False
    gate: str = ""
    beta: bool = True
    inline: bool = False
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields of a struct, and of which members exactly one must be set."""

    fields: tuple[Field, ...]
    union: tuple[str, ...] = ()
    beta: bool = True


@dataclass(frozen=True, slots=True)
class Walk:
    """One validation: create, or update of ``old``."""

    table: Mapping[str, Struct]
    features: Features
    update: bool

    def struct(self, name: str, path: str, new: JsonObject, old: JsonObject | None) -> Errors:
        """Check a struct; ``old`` is None where there is nothing to compare with."""
        row = self.table[name]
        errors = [replace(one, declared=row.beta) for one in self._union(row, path, new, old)]
        for field in row.fields:
            at = path if field.inline else f"{path}.{field.name}" if path else field.name
            before = None if old is None else old.get(field.name)
            value = new.get(field.name)
            if not (self.update and old is not None and same(value, before)):
                errors += self._field(field, at, value, before)
        return errors

    def _union(self, row: Struct, path: str, new: JsonObject, old: JsonObject | None) -> Errors:
        found = _members(row, new)
        if not row.union or (self.update and old is not None and found == _members(row, old)) or len(found) == 1:
            return []
        names = ", ".join(f"`{name}`" for name in row.union)
        if not found:
            return [invalid(path, "", f"must specify one of: {names}", "union")]
        return [invalid(path, f"{{{', '.join(found)}}}", f"must specify exactly one of: {names}", "union")]

    def _field(self, field: Field, path: str, value: Any, old: Any) -> Errors:
        errors = [replace(one, declared=field.beta) for one in self._own(field, path, value, old)]
        if not errors or not self._stops(field, value, old):
            errors += self._inner(field, path, value, old)
        return errors

    def _stops(self, field: Field, value: Any, old: Any) -> bool:
        return bool(
            _is_missing(value)
            or (field.fixed and self.update)
            or (field.most is not None and len(value) > field.most)
            or (field.set_once and old is not None)
            or (field.gate and not self.features.on(field.gate))
        )

    def _own(self, field: Field, path: str, value: Any, old: Any) -> Errors:
        """Check what does not look into the items; the first check that fails may be the only one told."""
        if field.fixed and self.update:
            return [invalid(path, None, IMMUTABLE, "immutable")]
        if field.gate and not self.features.on(field.gate):
            return [] if value is None else [forbidden(path)]
        if _is_missing(value):
            return [required(path)] if field.required else []
        if field.set_once and self.update and old is not None:
            return [invalid(path, None, "field cannot be modified once set", "update")]
        if field.most is not None and len(value) > field.most:
            return [too_many(path, len(value), field.most)]
        errors = [] if field.unique is None else _repeated(value, path, field.unique)
        if field.enum and value not in field.enum:
            errors.append(not_supported(path, value, field.enum))
        errors += [error for check in field.checks for error in check(value, path)]
        if field.keys is not None:
            kept = old if self.update and old else {}
            errors += [error for key in value if key not in kept for error in field.keys(key, path)]
        if field.items is not None:
            errors += self._texts(field.items, path, value, old or [])
        return errors

    def _texts(self, check: Check, path: str, values: list[str], old: list[str]) -> Errors:
        kept = old if self.update else []
        return [error for at, one in enumerate(values) if one not in kept for error in check(one, f"{path}[{at}]")]

    def _inner(self, field: Field, path: str, value: Any, old: Any) -> Errors:
        if not field.struct or _is_missing(value):
            return []
        if isinstance(value, Map):
            return self._map(field, path, value, old or {})
        if isinstance(value, list):
            return self._list(field, path, value, old or [])
        return self.struct(field.struct, path, value, old)

    def _map(self, field: Field, path: str, value: Map, old: Mapping[str, Any]) -> Errors:
        return [
            error
            for key, item in value.items()
            if not (self.update and key in old and same(item, old[key]))
            for error in self.struct(field.struct, f"{path}[{key}]", item, old.get(key))
        ]

    def _list(self, field: Field, path: str, value: list[Any], old: list[Any]) -> Errors:
        errors: Errors = []
        for index, item in enumerate(value):
            match = self._match(field, item, old)
            if not (self.update and match is not None and same(item, match)):
                errors += self.struct(field.struct, f"{path}[{index}]{field.suffix}", item, match)
        return errors

    def _match(self, field: Field, item: JsonObject, old: list[JsonObject]) -> JsonObject | None:
        if not field.matched or field.unique is None:
            return None
        key = _key(item, field.unique)
        return next((one for one in old if _key(one, field.unique or ()) == key), None)


def _members(row: Struct, value: JsonObject) -> list[str]:
    """Give the members of the union that are set; an empty list is not."""
    return [name for name in row.union if name in value and value[name] != []]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, list | Map) and not value)


def _key(item: Any, names: tuple[str, ...]) -> Any:
    return tuple(item.get(name) for name in names) if names else item


def _repeated(items: list[Any], path: str, names: tuple[str, ...]) -> Errors:
    seen: list[Any] = []
    errors: Errors = []
    for index, item in enumerate(items):
        key = _key(item, names)
        if key in seen:
            errors.append(duplicate(f"{path}[{index}]", item))
        seen.append(key)
    return errors
