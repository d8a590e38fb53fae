"""Feature gates: with a gate off, its fields are dropped on write unless the stored object uses them already."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dragoman_hookspecs import JsonObject

_DEVICE = "spec.devices.[]"
GATED_FIELDS: Mapping[str, Sequence[str]] = {
    "DRADeviceTaints": (f"{_DEVICE}.taints",),
    "DRAConsumableCapacity": (f"{_DEVICE}.allowMultipleAllocations", f"{_DEVICE}.capacity.[].requestPolicy"),
    "DRAPartitionableDevices": (
        "spec.sharedCounters",
        "spec.perDeviceNodeSelection",
        f"{_DEVICE}.consumesCounters",
    ),
    "DRADeviceBindingConditions": (
        f"{_DEVICE}.bindsToNode",
        f"{_DEVICE}.bindingConditions",
        f"{_DEVICE}.bindingFailureConditions",
    ),
    "DRANodeAllocatableResources": (f"{_DEVICE}.nodeAllocatableResources",),
    "DRAPartitionableDevicesType": ("spec.partitionTypeAttribute",),
    "DRAOptionalNodeOperations": ("spec.skipNodeOperations",),
    "DRADeviceCompatibilityGroups": (f"{_DEVICE}.consumesCounters.[].compatibilityGroups",),
    "DRAListTypeAttributes": tuple(
        f"{_DEVICE}.attributes.[].{key}" for key in ("ints", "bools", "strings", "versions")
    ),
    "DRAResourceClaimDeviceStatus": ("status.devices",),
}
"""Gate to the fields behind it; ``[]`` stands for every element of a list and every value of a map."""


def drop_gated(obj: JsonObject, old: JsonObject | None, off: Iterable[str]) -> JsonObject:
    """Give the object without the fields of gates that are off and that the stored object does not use."""
    result = copy.deepcopy(obj)
    for gate in off:
        paths = [path.split(".") for path in GATED_FIELDS[gate]]
        used = old is not None and any(_cut(copy.deepcopy(old), path) for path in paths)
        if not used:
            for path in paths:
                _cut(result, path)
    return result


def _cut(node: Any, path: Sequence[str]) -> bool:
    """Remove a path; tell whether anything was there."""
    step, *rest = path
    if step == "[]":
        children = list(node.values()) if isinstance(node, dict) else list(node or ())
        cut = [_cut(child, rest) for child in children]
        return any(cut)
    if not isinstance(node, dict) or node.get(step) is None:
        return False
    if rest:
        return _cut(node[step], rest)
    del node[step]
    return True
