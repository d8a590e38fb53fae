"""Attributes as constraints compare them: published by the driver, or derived by the request (1.37, KEP-6080)."""

from __future__ import annotations

from typing import Final, Literal

from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.cel import CompileError, Environment, EvaluationError
from dragoman_allocator.errors import AllocationFailed
from dragoman_allocator.objects import Attribute

Scalar = tuple[str, int | bool | str]
ValueSet = tuple[str, frozenset[int | bool | str]]
Value = Scalar | ValueSet | Literal["unknown"]
"""Kind and value, or kind and set of values where lists are on; unknown where no member is set that counts."""

UNKNOWN: Final = "unknown"


class AttributeTable:
    """The values of one attribute on all devices."""

    def __init__(self, name: str, *, lists: bool) -> None:
        """``lists``: DRAListTypeAttributes is on, so every value is a set."""
        self._name = name
        self._domain, self._slash, self._bare = name.partition("/")
        self._lists = lists
        self._values: dict[DeviceRecord, Value | None] = {}

    def value(self, device: DeviceRecord) -> Value | None:
        """Give the device's value under the full name, or its own driver's under the bare name; None for neither."""
        try:
            return self._values[device]
        except KeyError:
            attribute = self._find(device)
            value = None if attribute is None else comparable(attribute, lists=self._lists)
            self._values[device] = value
            return value

    def _find(self, device: DeviceRecord) -> Attribute | None:
        attributes = device.spec.attributes or {}
        attribute = attributes.get(self._name)
        if attribute is None and self._slash and self._domain == device.id[0]:
            return attributes.get(self._bare)
        return attribute


class DerivedTable:
    """The values of one derived attribute on all devices; the name only stands in errors."""

    def __init__(self, expression: str, environment: Environment, *, lists: bool) -> None:
        self._expression = expression
        self._environment = environment
        self._lists = lists
        self._values: dict[DeviceRecord, Value] = {}

    def value(self, name: str, device: DeviceRecord) -> Value:
        """Evaluate the expression, or give the value known. Raises ``AllocationFailed``."""
        value = self._values.get(device)
        if value is None:
            value = self._values[device] = comparable(self._derive(name, device), lists=self._lists)
        return value

    def _derive(self, name: str, device: DeviceRecord) -> Attribute:
        try:
            program = self._environment.compile(self._expression, derived=True)
        except CompileError as problem:
            raise AllocationFailed(f"compile derived attribute {name} failed: {problem}") from problem
        try:
            return program.derive(device.id[0], device.spec)
        except EvaluationError as problem:
            raise AllocationFailed(
                f"evaluate derived attribute {name} on device {device.path} failed: {problem}"
            ) from problem


def comparable(attribute: Attribute, *, lists: bool) -> Value:
    """Give what constraints compare of an attribute."""
    return _as_set(attribute) if lists else _as_scalar(attribute)


def _as_scalar(attribute: Attribute) -> Scalar | Literal["unknown"]:
    if attribute.string is not None:
        return "string", attribute.string
    if attribute.int_ is not None:
        return "int", attribute.int_
    if attribute.bool_ is not None:
        return "bool", attribute.bool_
    if attribute.version is not None:
        return "version", attribute.version
    return UNKNOWN


def _as_set(attribute: Attribute) -> Value:
    if attribute.ints:
        return "int", frozenset(attribute.ints)
    if attribute.bools:
        return "bool", frozenset(attribute.bools)
    if attribute.strings:
        return "string", frozenset(attribute.strings)
    if attribute.versions:
        return "version", frozenset(attribute.versions)
    scalar = _as_scalar(attribute)
    return UNKNOWN if scalar == UNKNOWN else (scalar[0], frozenset(scalar[1:]))
