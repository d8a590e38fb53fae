"""From any version of the API to one shape, that of v1, with the API server's defaults (api-semantics 1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dragoman_allocator.conversion import REQUEST_MEMBERS
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.instants import Instant
from dragoman_allocator.validation.reading import Reading

NOW: Final = Instant(0)
"""Stands for the time of the write in ``timeAdded``, so that nothing depends on a clock."""

LIMIT: Final = 100


def internal(reading: Reading) -> JsonObject:
    """Give the object with defaults, in the shape of v1; ``reading`` is used up."""
    value = reading.value
    if reading.kind == "ResourceSlice":
        _slice(value, flat=reading.version != "v1beta1")
    elif reading.kind == "ResourceClaim":
        _claim(value["spec"], flat=reading.version == "v1beta1")
        _tolerations(results(value))
    elif reading.kind == "ResourceClaimTemplate":
        _claim(value["spec"]["spec"], flat=reading.version == "v1beta1")
    elif reading.kind == "DeviceTaintRule":
        value["spec"]["taint"].setdefault("timeAdded", NOW)
    elif reading.kind == "ResourcePoolStatusRequest":
        value["spec"].setdefault("limit", LIMIT)
    return value


def results(claim: JsonObject) -> list[JsonObject]:
    """Give the allocation results of a claim."""
    allocation = claim["status"].get("allocation")
    return [] if allocation is None else allocation["devices"].get("results", [])


def devices(slice_: JsonObject) -> list[JsonObject]:
    """Give the devices of a slice."""
    found: list[JsonObject] = slice_["spec"].get("devices", [])
    return found


def requests(spec: JsonObject) -> list[JsonObject]:
    """Give the requests of a claim's spec."""
    found: list[JsonObject] = spec["devices"].get("requests", [])
    return found


def askings(spec: JsonObject) -> Iterator[JsonObject]:
    """Give what asks for devices: ``exactly`` and the members of ``firstAvailable`` of every request."""
    for request in requests(spec):
        if "exactly" in request:
            yield request["exactly"]
        yield from request.get("firstAvailable", [])


def _slice(value: JsonObject, *, flat: bool) -> None:
    spec = value["spec"]
    if not flat:
        spec.update({"devices": [_unwrapped(device) for device in devices(value)]} if "devices" in spec else {})
    for device in devices(value):
        for taint in device.get("taints", []):
            taint.setdefault("timeAdded", NOW)


def _unwrapped(device: JsonObject) -> JsonObject:
    """Give a device without ``basic``; conversion loses empty lists and maps, which v1 keeps apart from none."""
    basic: dict[str, Any] = device.pop("basic", {})
    lost = ("attributes", "capacity", "consumesCounters", "taints")
    return device | {key: value for key, value in basic.items() if value or key not in lost}


def _claim(spec: JsonObject, *, flat: bool) -> None:
    for request in requests(spec):
        if flat:
            _nested(request)
        # in v1beta1 a request without class may be one of subrequests, which has no mode of its own
        if "exactly" in request and not (flat and "deviceClassName" not in request["exactly"]):
            _mode(request["exactly"])
        for subrequest in request.get("firstAvailable", []):
            _mode(subrequest)
    _tolerations(list(askings(spec)))


def _mode(asking: JsonObject) -> None:
    if asking.setdefault("allocationMode", "ExactCount") == "ExactCount":
        asking.setdefault("count", 1)


def _nested(request: JsonObject) -> None:
    """Move what v1beta1 has in the request itself to ``exactly``; without a class nothing is defaulted."""
    found = {key: request.pop(key) for key in REQUEST_MEMBERS if key in request}
    if found:
        request["exactly"] = found


def _tolerations(owners: list[JsonObject]) -> None:
    for owner in owners:
        for toleration in owner.get("tolerations", []):
            toleration.setdefault("operator", "Equal")


def is_set(value: JsonObject, *names: str) -> bool:
    """Tell whether any of the members is set, empty or not."""
    return any(name in value for name in names)


def has_items(value: JsonObject, *names: str) -> bool:
    """Tell whether any of the members is a list or map that is not empty."""
    return any(value.get(name) for name in names)
