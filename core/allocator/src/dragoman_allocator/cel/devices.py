"""What an expression sees of a device, and what the result of an expression becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dragoman_allocator import quantity, semver
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.types import Type
from dragoman_allocator.cel.values import LISTS, MISSING, Domains, Map, Named, Optional, Value, type_of
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import Attribute, Capacity, Device
from dragoman_allocator.semver import Version


def device_value(driver: str, device: Device) -> Map:
    """Give the value of the variable ``device``.

    Names without a domain belong to the driver's. Raises ``EvaluationError`` for an attribute whose value is unknown
    or no version:
    no expression has a value for such a device.
    """
    return Map(
        driver=driver,
        attributes=_by_domain(driver, device.attributes, _attribute),
        capacity=_by_domain(driver, device.capacity, _capacity),
        allowMultipleAllocations=bool(device.allow_multiple_allocations),
    )


def _by_domain(driver: str, named: Mapping[str, Any] | None, convert: Callable[[str, Any], Value]) -> Domains:
    domains = Domains()
    for name, value in (named or {}).items():
        domain, identifier = name.split("/", 1) if "/" in name else (driver, name)
        entries = domains.get(domain)
        if entries is None:
            entries = domains[domain] = Named()
        entries[identifier] = convert(name, value)
    return domains


def _capacity(name: str, capacity: Capacity) -> Value:
    try:
        return quantity.parse(capacity.value)
    except InvalidInput as error:
        raise EvaluationError(f"capacity {name}: {error}") from None


def _attribute(name: str, attribute: Attribute) -> Value:
    value: Value
    for member in _MEMBERS_IN_ORDER:
        value = getattr(attribute, member)
        if value is not None:
            break
    else:
        raise EvaluationError(f"attribute {name}: unsupported attribute value")
    if member == "version":
        return _version(name, value)
    return [_version(name, text) for text in value] if member == "versions" else value


_MEMBERS_IN_ORDER: Final = ("ints", "bools", "strings", "versions", "int_", "bool_", "string", "version")


def _version(name: str, text: str) -> Version:
    try:
        return semver.parse(text)
    except InvalidInput as error:
        raise EvaluationError(f"attribute {name}: parse semantic version: {error}") from None


def to_bool(value: Value) -> bool:
    """Give the verdict of a selector. Raises ``EvaluationError`` if its value is no bool."""
    found = _unwrapped(value)
    if type(found) is not bool:
        raise EvaluationError(
            f"CEL result of type {type_of(value).name} could not be converted to bool: it must be a bool"
        )
    return found


def _unwrapped(value: Value) -> Value:
    while type(value) is Optional:
        value = value.value
    return value


_MEMBERS: Final = {bool: ("bool_", "bools", "bool"), int: ("int_", "ints", "int"), str: ("string", "strings", "string")}
_VERSION: Final = ("version", "versions", "semver")
_GO_TYPES: Final = {
    "double": "float64",
    "uint": "uint64",
    "bytes": "[]uint8",
    "null_type": "structpb.NullValue",
    "google.protobuf.Duration": "time.Duration",
    "google.protobuf.Timestamp": "time.Time",
    "kubernetes.Quantity": "*resource.Quantity",
    "map": "map[ref.Val]ref.Val",
    "list": "[]ref.Val",
}


def to_attribute(value: Value) -> Attribute:
    """Give the derived attribute that a value makes: bool, int, string, version or a list of one of them (KEP-6080).

    Raises ``EvaluationError`` for other values and for lists of several types.
    """
    if type(value) in LISTS:
        return _list_attribute(value)
    converted, names = _converted(value)
    if names is None:
        raise EvaluationError(f"unsupported CEL return type: {_go_type(value)}")
    return Attribute(**{names[0]: converted})


def _list_attribute(elements: list[Value]) -> Attribute:
    if not elements:
        return Attribute(strings=[])
    _, names = _converted(elements[0])
    if names is None:
        raise EvaluationError(f"unsupported list element type: {_go_type(elements[0])}")
    values = []
    for at, element in enumerate(elements):
        converted, found = _converted(element)
        if found != names:
            raise EvaluationError(f"expected list element at index {at} to be {names[2]}, got {_go_type(element)}")
        values.append(converted)
    members: dict[str, Any] = {names[1]: values}
    return Attribute(**members)


def _converted(value: Value) -> tuple[Any, tuple[str, str, str] | None]:
    value = _unwrapped(value)
    if type(value) is Version:
        return value.text, _VERSION
    if type(value) is Type:
        return value.name, _MEMBERS[str]
    return value, _MEMBERS.get(type(value))


def _go_type(value: Value) -> str:
    value = _unwrapped(value)
    return "<nil>" if value is MISSING else _GO_TYPES.get(type_of(value).name, type_of(value).name)
