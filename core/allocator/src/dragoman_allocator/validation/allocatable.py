"""Rules about what devices take from or add to a node's allocatable resources (KEP-5517, api-semantics 5.2)."""

from __future__ import annotations

from typing import Final

from dragoman_allocator import names
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.errors import Errors, covered, invalid, not_found, required

DEPENDENT: Final = "dependentRequired"


def resources(device: JsonObject, path: str) -> Errors:
    """Check ``nodeAllocatableResources`` of a device."""
    errors: Errors = []
    for resource, value in device.get("nodeAllocatableResources", {}).items():
        at = f"{path}.nodeAllocatableResources[{resource}]"
        if not names.node_allocatable(resource):
            errors.append(invalid(at, resource, "must be a node allocatable resource name"))
        if "mapping" not in value and "overhead" not in value:
            errors.append(required(at, "at least one of mapping or overhead must be set"))
        if "mapping" in value:
            errors += _mapping(value["mapping"], device.get("capacity", {}), f"{at}.mapping")
        if "overhead" in value:
            errors += _overhead(value["overhead"], f"{at}.overhead")
    return errors


def _mapping(value: JsonObject, capacities: JsonObject, path: str) -> Errors:
    errors: Errors = []
    if "capacityKey" in value:
        errors += _capacity_key(value["capacityKey"], capacities, f"{path}.capacityKey")
        if "capacityMultiplier" not in value:
            text = "capacityMultiplier is required when capacityKey is set"
            errors += covered([required(f"{path}.capacityMultiplier", text)], DEPENDENT)
        elif value["capacityMultiplier"].sign <= 0:
            shown = value["capacityMultiplier"].text
            errors.append(invalid(f"{path}.capacityMultiplier", shown, "must be positive"))
    if "deviceMultiplier" in value and value["deviceMultiplier"].sign <= 0:
        errors.append(invalid(f"{path}.deviceMultiplier", value["deviceMultiplier"].text, "must be positive"))
    if "capacityMultiplier" in value and "capacityKey" not in value:
        text = "capacityKey is required when capacityMultiplier is set"
        errors += covered([required(f"{path}.capacityKey", text)], DEPENDENT)
    return errors


def _capacity_key(key: str, capacities: JsonObject, path: str) -> Errors:
    if not key:
        return [invalid(path, "", "capacityKey must not be an empty string")]
    return [] if key in capacities else [not_found(path, key)]


def _overhead(value: JsonObject, path: str) -> Errors:
    if not value.keys() & {"perPod", "perContainer"}:
        return [invalid(path, "", "at least one of perPod or perContainer must be set")]
    return [
        invalid(f"{path}.{name}", value[name].text, "must be non-negative")
        for name in ("perPod", "perContainer")
        if name in value and value[name].sign < 0
    ]
