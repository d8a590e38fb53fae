"""Whether two slices say the same, and what a server dropped of one.

The comparable form of a slice's content is flat (as v1), holds quantities by value, and leaves out what means nothing:
nulls, empty lists and maps, a false sharing flag, and the times at which taints were added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dragoman_allocator.quantity import InvalidQuantity, parse
from dragoman_hookspecs import JsonObject

_HEAD = ("driver", "nodeName", "pool")


def comparable(spec: Mapping[str, Any]) -> JsonObject:
    """Give the comparable form of a slice's content, from the spec of any API version."""
    result = {key: value for key, value in spec.items() if key not in _HEAD}
    result["devices"] = [_device(flat(device)) for device in spec.get("devices") or ()]
    result["sharedCounters"] = [_counted(counter_set) for counter_set in spec.get("sharedCounters") or ()]
    comparable_form: JsonObject = _meaningful(result)
    return comparable_form


def flat(device: Mapping[str, Any]) -> JsonObject:
    """Give a device in the shape of v1."""
    return {key: value for key, value in device.items() if key != "basic"} | (device.get("basic") or {})


def within(part: Any, whole: Any) -> bool:
    """Whether ``part`` is ``whole`` with some members of objects left out."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and within(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(within, part, whole))
    return bool(part == whole)


def _device(device: JsonObject) -> JsonObject:
    result = dict(device)
    result["taints"] = [_without(taint, "timeAdded") for taint in device.get("taints") or ()]
    result["consumesCounters"] = [_counted(taken) for taken in device.get("consumesCounters") or ()]
    result["capacity"] = {name: _capacity(value) for name, value in (device.get("capacity") or {}).items()}
    resources = device.get("nodeAllocatableResources") or {}
    result["nodeAllocatableResources"] = {name: _allocatable(value) for name, value in resources.items()}
    if not device.get("allowMultipleAllocations"):
        result.pop("allowMultipleAllocations", None)
    return result


def _capacity(capacity: JsonObject) -> JsonObject:
    policy = dict(capacity.get("requestPolicy") or {})
    policy["validValues"] = [_value(text) for text in policy.get("validValues") or ()]
    policy["validRange"] = {name: _value(text) for name, text in (policy.get("validRange") or {}).items()}
    policy["default"] = _value(policy.get("default"))
    return {**capacity, "value": _value(capacity.get("value")), "requestPolicy": policy}


def _counted(entry: JsonObject) -> JsonObject:
    counters = entry.get("counters") or {}
    return {**entry, "counters": {name: {**c, "value": _value(c.get("value"))} for name, c in counters.items()}}


def _allocatable(entry: JsonObject) -> JsonObject:
    return {
        part: {name: text if name == "capacityKey" else _value(text) for name, text in (members or {}).items()}
        for part, members in entry.items()
    }


def _value(text: Any) -> Any:
    if text is None:
        return None
    try:
        return parse(text)
    except InvalidQuantity:
        return text


def _without(entry: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in entry.items() if key != name}


def _meaningful(value: Any) -> Any:
    if isinstance(value, dict):
        items = ((key, _meaningful(member)) for key, member in value.items())
        return {key: member for key, member in items if member not in (None, [], {})}
    if isinstance(value, list):
        return [_meaningful(member) for member in value]
    return value


_Count = Callable[[JsonObject], int]


def _length(name: str) -> _Count:
    return lambda device: len(device.get(name) or ())


def _policies(device: JsonObject) -> int:
    return sum("requestPolicy" in capacity for capacity in (device.get("capacity") or {}).values())


_GATED: Sequence[tuple[str, str, _Count]] = (
    ("taints", "DRADeviceTaints", _length("taints")),
    ("consumesCounters", "DRAPartitionableDevices", _length("consumesCounters")),
    ("bindingConditions", "DRADeviceBindingConditions", _length("bindingConditions")),
    ("bindingFailureConditions", "DRADeviceBindingConditions", _length("bindingFailureConditions")),
    ("allowMultipleAllocations", "DRAConsumableCapacity", lambda d: int("allowMultipleAllocations" in d)),
    ("requestPolicy", "DRAConsumableCapacity", _policies),
    ("nodeAllocatableResources", "DRANodeAllocatableResources", _length("nodeAllocatableResources")),
)
"""Field of a device, the feature gate behind it, and how much of it a device has."""


def dropped(wanted: JsonObject, stored: JsonObject) -> Iterator[str]:
    """Say what the server dropped, from the comparable forms of what was sent and what it keeps."""
    for field, gate in (
        ("sharedCounters", "DRAPartitionableDevices"),
        ("partitionTypeAttribute", "DRAPartitionableDevicesType"),
    ):
        if field in wanted and field not in stored:
            yield f"the API server dropped {field}: feature gate {gate} is off there"
    kept = {device["name"]: device for device in stored.get("devices") or ()}
    for device in wanted.get("devices") or ():
        other = kept.get(device["name"])
        if other is None:
            yield f"device {device['name']}: the API server dropped it"
            continue
        for field, gate, count in _GATED:
            if count(other) < count(device):
                yield f"device {device['name']}: the API server dropped {field}: feature gate {gate} is off there"
