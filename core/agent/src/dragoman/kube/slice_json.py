"""Devices and counter sets as the API writes them. Bare attribute names stay bare: the driver's domain is implied."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from dragoman.model.attribute_json import attribute_json
from dragoman.model.slices import SliceSpec
from dragoman_hookspecs import (
    Capacity,
    CounterSet,
    Device,
    JsonObject,
    NodeAllocatable,
    RequestPolicy,
    Taint,
)

LIST_MEMBERS = ("bools", "ints", "strings", "versions")
"""Members of an attribute that hold lists (gate DRAListTypeAttributes)."""


def content_json(spec: SliceSpec, version: str) -> JsonObject:
    """Give ``spec`` of a slice without driver, node and pool, in one API version."""
    content: JsonObject = {}
    if spec.counter_sets:
        content["sharedCounters"] = [_counter_set(counter_set) for counter_set in spec.counter_sets]
    else:
        content["devices"] = [device_json(device, version) for device in spec.devices]
    if spec.partition_type_attribute:
        content["partitionTypeAttribute"] = spec.partition_type_attribute
    return content


def device_json(device: Device, version: str) -> JsonObject:
    """Give one device; v1beta1 nests everything but the name under ``basic``."""
    body = _device(device)
    return {"name": device.name, "basic": body} if version == "v1beta1" else {"name": device.name, **body}


def slice_name(driver: str, node: str, index: int, attempt: int = 0) -> str:
    """Give the object name of a slice.

    It begins with the index, like those of the Go helper, and is the same after every restart, so that a create whose
    answer was lost is recognised. The hash keeps ("a", "b-c") and ("a-b", "c") apart; ``attempt`` evades a name that
    somebody else holds.
    """
    digest = hashlib.sha256(f"{driver}\0{node}\0{attempt}".encode()).hexdigest()[:8]
    readable = f"{index:05x}-{driver}-{node}".lower()[:200].rstrip("-.")
    return f"{readable}-{digest}"


def index_of(name: str) -> int | None:
    """Give the index of a slice name, ours or of the Go helper, or None."""
    prefix, dash, _ = name.partition("-")
    hexadecimal = len(prefix) >= 5 and all(character in "0123456789abcdef" for character in prefix)
    return int(prefix, 16) if dash and hexadecimal else None


def _device(device: Device) -> JsonObject:
    parts: JsonObject = {
        "attributes": {name: attribute_json(value) for name, value in device.attributes.items()},
        "capacity": {name: _capacity(capacity) for name, capacity in device.capacity.items()},
        "consumesCounters": [
            {"counterSet": taken.counter_set, "counters": _counters(taken.counters)} for taken in device.counters
        ],
        "taints": [_taint(taint) for taint in device.taints],
        "bindingConditions": list(device.binding_conditions),
        "bindingFailureConditions": list(device.binding_failure_conditions),
        "nodeAllocatableResources": {name: _node_allocatable(entry) for name, entry in device.node_allocatable.items()},
    }
    shareable: JsonObject = {"allowMultipleAllocations": True} if device.allow_multiple_allocations else {}
    return {key: value for key, value in parts.items() if value} | shareable


def _capacity(capacity: Capacity) -> JsonObject:
    policy = {"requestPolicy": _policy(capacity.policy)} if capacity.policy else {}
    return {"value": capacity.value} | policy


def _policy(policy: RequestPolicy) -> JsonObject:
    bounds = _given(min=policy.minimum, max=policy.maximum, step=policy.step)
    values = list(policy.valid_values)
    return _given(default=policy.default, validValues=values or None, validRange=bounds or None)


def _counter_set(counter_set: CounterSet) -> JsonObject:
    return {"name": counter_set.name, "counters": _counters(counter_set.counters)}


def _counters(counters: Mapping[str, str]) -> JsonObject:
    return {name: {"value": value} for name, value in counters.items()}


def _taint(taint: Taint) -> JsonObject:
    return {"key": taint.key, "effect": taint.effect} | ({"value": taint.value} if taint.value else {})


def _node_allocatable(entry: NodeAllocatable) -> JsonObject:
    mapping, overhead = entry.mapping, entry.overhead
    result: JsonObject = {}
    if mapping is not None:
        result["mapping"] = _given(
            capacityKey=mapping.capacity_key,
            capacityMultiplier=mapping.capacity_multiplier,
            deviceMultiplier=mapping.device_multiplier,
        )
    if overhead is not None:
        result["overhead"] = _given(perPod=overhead.per_pod, perContainer=overhead.per_container)
    return result


def _given(**members: Any) -> JsonObject:
    return {key: value for key, value in members.items() if value is not None}
