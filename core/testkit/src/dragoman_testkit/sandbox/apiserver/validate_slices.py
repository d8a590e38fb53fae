"""Rules of ResourceSlices that a publisher can break. Limits are those of Kubernetes 1.37."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.errors import Cause

DEVICES = 128
FEATURED_DEVICES = 64
COUNTER_SETS = 8
COUNTERS = 32
ATTRIBUTES_AND_CAPACITIES = 32
ATTRIBUTE_VALUES = 48
VALUE_BYTES = 64
TAINTS = 16

_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_IDENTIFIER = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_SEMVER = re.compile(
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"
)
_LISTS = ("ints", "bools", "strings", "versions")
_MEMBERS = ("int", "bool", "string", "version", *_LISTS)


def check_slice(obj: JsonObject, old: JsonObject | None) -> Iterator[Cause]:
    """List what is wrong with a slice."""
    spec = obj.get("spec") or {}
    yield from _check_head(spec)
    if old is not None:
        yield from _check_immutable(spec, old["spec"])
    devices, sets = spec.get("devices"), spec.get("sharedCounters")
    if devices and sets:
        yield Cause("spec", "FieldValueInvalid", "exactly one of devices and sharedCounters may be set")
    yield from _check_devices(devices or [])
    yield from _check_sets(sets or [])
    if spec.get("partitionTypeAttribute") and not any(d.get("consumesCounters") for d in devices or []):
        yield _invalid("spec.partitionTypeAttribute", "needs a device that consumes counters")


def _check_head(spec: JsonObject) -> Iterator[Cause]:
    driver, pool = str(spec.get("driver") or ""), spec.get("pool") or {}
    if not _SUBDOMAIN.match(driver.lower()) or len(driver) > 63:
        yield _invalid("spec.driver", "must be a DNS subdomain of at most 63 characters")
    name = str(pool.get("name") or "")
    if len(name) > 253 or not all(_SUBDOMAIN.match(part) for part in name.split("/")):
        yield _invalid("spec.pool.name", "must be DNS subdomains separated by /")
    if pool.get("generation", 0) < 0:
        yield _invalid("spec.pool.generation", "must be greater than or equal to 0")
    if pool.get("resourceSliceCount", 0) <= 0:
        yield _invalid("spec.pool.resourceSliceCount", "must be greater than 0")
    scopes = [key for key in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection") if spec.get(key)]
    if len(scopes) != 1:
        reason = "FieldValueInvalid" if scopes else "FieldValueRequired"
        yield Cause(
            "spec", reason, "exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection is required"
        )


def _check_immutable(spec: JsonObject, old: JsonObject) -> Iterator[Cause]:
    for path in ("driver", "nodeName", "pool.name"):
        here, before = (_dig(side, path) for side in (spec, old))
        if here != before:
            yield _invalid(f"spec.{path}", "field is immutable")


def _check_devices(devices: list[JsonObject]) -> Iterator[Cause]:
    limit = FEATURED_DEVICES if any(_featured(d) for d in devices) else DEVICES
    if len(devices) > limit:
        yield _too_many("spec.devices", limit)
    names: set[str] = set()
    for index, device in enumerate(devices):
        path, name = f"spec.devices[{index}]", str(device.get("name") or "")
        if not _LABEL.match(name):
            yield _invalid(f"{path}.name", "must be a DNS label")
        if name in names:
            yield Cause(path, "FieldValueDuplicate", f'Duplicate value: "{name}"')
        names.add(name)
        yield from _check_device(path, device)


def _check_device(path: str, device: JsonObject) -> Iterator[Cause]:
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > ATTRIBUTES_AND_CAPACITIES:
        limit = ATTRIBUTES_AND_CAPACITIES
        yield _invalid(path, f"the total number of attributes and capacities must not exceed {limit}")
    if sum(_values(value) for value in attributes.values()) > ATTRIBUTE_VALUES:
        yield _too_many(f"{path}.attributes", ATTRIBUTE_VALUES)
    for name, value in attributes.items():
        yield from _check_name(f"{path}.attributes", name)
        yield from _check_attribute(f"{path}.attributes[{name}]", value)
    for name, value in capacity.items():
        yield from _check_name(f"{path}.capacity", name)
        if value.get("requestPolicy") and not device.get("allowMultipleAllocations"):
            yield _forbidden(f"{path}.capacity[{name}].requestPolicy", "needs allowMultipleAllocations")
    if len(device.get("taints") or ()) > TAINTS:
        yield _too_many(f"{path}.taints", TAINTS)
    if len(device.get("consumesCounters") or ()) > 2:
        yield _too_many(f"{path}.consumesCounters", 2)
    together = ("bindingConditions", "bindingFailureConditions")
    missing = [key for key in together if not device.get(key)]
    if len(missing) == 1:
        yield _invalid(f"{path}.{missing[0]}", f"{' and '.join(together)} go together")


def _check_name(path: str, name: str) -> Iterator[Cause]:
    domain, slash, identifier = name.rpartition("/")
    if name.count("/") > 1:
        return
    if slash and (len(domain) > 63 or not _SUBDOMAIN.match(domain.lower())):
        yield _invalid(path, f"{name!r} must begin with a DNS subdomain of at most 63 characters")
    if len(identifier) > 32:
        yield Cause(path, "FieldValueTooLong", "may not be more than 32 bytes")
    elif not _IDENTIFIER.match(identifier):
        yield _invalid(path, f"{name!r} must be a C identifier, perhaps after a domain and /")


def _check_attribute(path: str, value: Mapping[str, Any]) -> Iterator[Cause]:
    members = [key for key in _MEMBERS if value.get(key) is not None]
    if len(members) != 1:
        yield _invalid(path, "must specify exactly one of: " + ", ".join(_MEMBERS))
        return
    member, content = members[0], value[members[0]]
    if member in _LISTS and not content:
        yield Cause(path, "FieldValueRequired", f"{member} must not be empty")
    for text in content if isinstance(content, list) else [content]:
        if isinstance(text, str) and len(text.encode()) > VALUE_BYTES:
            yield Cause(f"{path}.{member}", "FieldValueTooLong", f"may not be more than {VALUE_BYTES} bytes")
        elif member.startswith("version") and not _SEMVER.match(text):
            yield _invalid(f"{path}.{member}", "must be a string compatible with semver.org spec 2.0.0")


def _check_sets(sets: list[JsonObject]) -> Iterator[Cause]:
    if len(sets) > COUNTER_SETS:
        yield _too_many("spec.sharedCounters", COUNTER_SETS)
    for index, counter_set in enumerate(sets):
        path, counters = f"spec.sharedCounters[{index}]", counter_set.get("counters") or {}
        if not _LABEL.match(str(counter_set.get("name") or "")):
            yield _invalid(f"{path}.name", "must be a DNS label")
        if not counters:
            yield Cause(f"{path}.counters", "FieldValueRequired", "is required")
        if len(counters) > COUNTERS:
            yield _too_many(f"{path}.counters", COUNTERS)


def _featured(device: JsonObject) -> bool:
    lists = any(value.get(key) for value in (device.get("attributes") or {}).values() for key in _LISTS)
    return bool(device.get("taints") or device.get("consumesCounters") or lists)


def _values(value: Mapping[str, Any]) -> int:
    return sum(len(value.get(key) or ()) for key in _LISTS) or 1


def _dig(spec: JsonObject, path: str) -> Any:
    value: Any = spec
    for step in path.split("."):
        value = (value or {}).get(step)
    return value


def _invalid(field: str, message: str) -> Cause:
    return Cause(field, "FieldValueInvalid", message)


def _forbidden(field: str, message: str) -> Cause:
    return Cause(field, "FieldValueForbidden", message)


def _too_many(field: str, limit: int) -> Cause:
    return Cause(field, "FieldValueTooMany", f"must have at most {limit} items")
