"""What a gate that is off takes out of an object before it is validated, unless the stored object already uses it.

One row per gate and kind (api-semantics 6): the gates that all must be on, what counts as use, and what is taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.normal import askings, devices, has_items, is_set, requests, results

_LISTS: Final = ("ints", "bools", "strings", "versions")
_BINDING: Final = ("bindingConditions", "bindingFailureConditions")
_SCOPE: Final = ("nodeName", "nodeSelector", "allNodes")


@dataclass(frozen=True, slots=True)
class Row:
    """A part of the API that gates guard."""

    gates: tuple[str, ...]
    used: Callable[[JsonObject], bool]
    drop: Callable[[JsonObject], None]


def drop(rows: tuple[Row, ...], new: JsonObject, old: JsonObject | None, features: Features) -> None:
    """Take out of ``new`` what the gates do not allow. ``old`` is the stored object, None on create."""
    for row in rows:
        if not all(map(features.on, row.gates)) and not (old is not None and row.used(old)):
            row.drop(new)


def _without(values: Iterator[JsonObject] | list[JsonObject], *names: str) -> None:
    for value in values:
        for name in names:
            value.pop(name, None)


def _attributes(slice_: JsonObject) -> Iterator[JsonObject]:
    for device in devices(slice_):
        yield from device.get("attributes", {}).values()


def _capacities(slice_: JsonObject) -> Iterator[JsonObject]:
    for device in devices(slice_):
        yield from device.get("capacity", {}).values()


def _consumptions(slice_: JsonObject) -> Iterator[JsonObject]:
    for device in devices(slice_):
        yield from device.get("consumesCounters", [])


def _drop_partitions(slice_: JsonObject) -> None:
    _without([slice_["spec"]], "sharedCounters", "perDeviceNodeSelection")
    _without(devices(slice_), "consumesCounters", *_SCOPE)


def _partitions(slice_: JsonObject) -> bool:
    spec = slice_["spec"]
    return (
        has_items(spec, "sharedCounters")
        or is_set(spec, "perDeviceNodeSelection")
        or any(has_items(device, "consumesCounters") or is_set(device, *_SCOPE) for device in devices(slice_))
    )


def _drop_consumable(slice_: JsonObject) -> None:
    _without(devices(slice_), "allowMultipleAllocations")
    _without(_capacities(slice_), "requestPolicy")


def _consumable(slice_: JsonObject) -> bool:
    return any(is_set(device, "allowMultipleAllocations") for device in devices(slice_)) or any(
        is_set(capacity, "requestPolicy") for capacity in _capacities(slice_)
    )


def _of_devices(gates: tuple[str, ...], *names: str, by_items: bool = True) -> Row:
    test = has_items if by_items else is_set
    return Row(
        gates,
        lambda slice_: any(test(device, *names) for device in devices(slice_)),
        lambda slice_: _without(devices(slice_), *names),
    )


SLICE: Final = (
    _of_devices(("DRADeviceTaints",), "taints"),
    Row(("DRAPartitionableDevices",), _partitions, _drop_partitions),
    Row(
        ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
        lambda slice_: any(has_items(one, *_BINDING) or is_set(one, "bindsToNode") for one in devices(slice_)),
        lambda slice_: _without(devices(slice_), *_BINDING, "bindsToNode"),
    ),
    Row(("DRAConsumableCapacity",), _consumable, _drop_consumable),
    Row(
        ("DRADeviceCompatibilityGroups",),
        lambda slice_: any(has_items(one, "compatibilityGroups") for one in _consumptions(slice_)),
        lambda slice_: _without(_consumptions(slice_), "compatibilityGroups"),
    ),
    _of_devices(("DRANodeAllocatableResources",), "nodeAllocatableResources"),
    Row(
        ("DRAListTypeAttributes",),
        lambda slice_: any(is_set(attribute, *_LISTS) for attribute in _attributes(slice_)),
        lambda slice_: _without(_attributes(slice_), *_LISTS),
    ),
    Row(
        ("DRAPartitionableDevicesType",),
        lambda slice_: is_set(slice_["spec"], "partitionTypeAttribute"),
        lambda slice_: _without([slice_["spec"]], "partitionTypeAttribute"),
    ),
    Row(
        ("DRAOptionalNodeOperations",),
        lambda slice_: has_items(slice_["spec"], "skipNodeOperations"),
        lambda slice_: _without([slice_["spec"]], "skipNodeOperations"),
    ),
)


def _exact(spec: JsonObject) -> list[JsonObject]:
    return [request["exactly"] for request in requests(spec) if "exactly" in request]


def _drop_capacity(spec: JsonObject) -> None:
    _without(spec["devices"].get("constraints", []), "distinctAttribute")
    _without(askings(spec), "capacity")


def _capacity(spec: JsonObject) -> bool:
    constraints = spec["devices"].get("constraints", [])
    return any(is_set(one, "distinctAttribute") for one in constraints) or any(
        is_set(one, "capacity") for one in askings(spec)
    )


CLAIM_SPEC: Final = (
    Row(
        ("DRAPrioritizedList",),
        lambda spec: any(has_items(request, "firstAvailable") for request in requests(spec)),
        lambda spec: _without(requests(spec), "firstAvailable"),
    ),
    Row(
        ("DRADeviceTaints",),
        lambda spec: any(has_items(one, "tolerations") for one in askings(spec)),
        lambda spec: _without(askings(spec), "tolerations"),
    ),
    Row(
        ("DRAAdminAccess",),
        lambda spec: any(is_set(one, "adminAccess") for one in _exact(spec)),
        lambda spec: _without(_exact(spec), "adminAccess"),
    ),
    Row(("DRAConsumableCapacity",), _capacity, _drop_capacity),
    Row(
        ("DRADerivedAttributes",),
        lambda spec: any(has_items(one, "derivedAttributes") for one in askings(spec)),
        lambda spec: _without(askings(spec), "derivedAttributes"),
    ),
)
"""Rows about the spec of a claim, which a template has as well."""


def _reports(claim: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = claim["status"].get("devices", [])
    return found


def _drop_shares(claim: JsonObject) -> None:
    _without(results(claim), "shareID", "consumedCapacity")
    _without(_reports(claim), "shareID")


def _shares(claim: JsonObject) -> bool:
    return (
        _capacity(claim["spec"])
        or any(is_set(result, "shareID", "consumedCapacity") for result in results(claim))
        or any(is_set(report, "shareID") for report in _reports(claim))
    )


CLAIM_STATUS: Final = (
    Row(
        ("DRAResourceClaimDeviceStatus",),
        lambda claim: has_items(claim["status"], "devices"),
        lambda claim: _without([claim["status"]], "devices"),
    ),
    Row(
        ("DRAAdminAccess",),
        lambda claim: any(is_set(one, "adminAccess") for one in (*_exact(claim["spec"]), *results(claim))),
        lambda claim: _without(results(claim), "adminAccess"),
    ),
    Row(("DRAConsumableCapacity",), _shares, _drop_shares),
    Row(
        ("DRADeviceBindingConditions",),
        lambda claim: any(is_set(result, *_BINDING) for result in results(claim)),
        lambda claim: _without(results(claim), *_BINDING),
    ),
    Row(
        ("DRAOptionalNodeOperations",),
        lambda claim: any(has_items(result, "skipNodeOperations") for result in results(claim)),
        lambda claim: _without(results(claim), "skipNodeOperations"),
    ),
)

DEVICE_CLASS: Final = (
    Row(
        ("DRAExtendedResource",),
        lambda value: is_set(value["spec"], "extendedResourceName"),
        lambda value: _without([value["spec"]], "extendedResourceName"),
    ),
)

POOL_REQUEST: Final = (
    Row(
        ("DRAPartitionableDevicesType",),
        lambda value: is_set(value["spec"], "defaultPartitionTypeAttribute"),
        lambda value: _without([value["spec"]], "defaultPartitionTypeAttribute"),
    ),
)

ROWS: Final[Mapping[str, tuple[Row, ...]]] = {
    "ResourceSlice": SLICE,
    "DeviceClass": DEVICE_CLASS,
    "ResourcePoolStatusRequest": POOL_REQUEST,
}
