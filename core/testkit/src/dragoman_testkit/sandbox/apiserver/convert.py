"""Shapes of the API versions: objects are stored as v1; v1beta1 wraps devices in ``basic`` and unwraps ``exactly``."""

from __future__ import annotations

from collections.abc import Callable

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.resources import Resource


def to_stored(resource: Resource, version: str, obj: JsonObject) -> JsonObject:
    """Give an object of some API version in the shape of v1."""
    return _converted(resource, version, obj, _flat_device, _nested_request, "v1")


def to_version(resource: Resource, version: str, obj: JsonObject) -> JsonObject:
    """Give a stored object in the shape of some API version."""
    return _converted(resource, version, obj, _basic_device, _flat_request, version)


def _converted(
    resource: Resource,
    version: str,
    obj: JsonObject,
    device: Callable[[JsonObject], JsonObject],
    request: Callable[[JsonObject], JsonObject],
    target: str,
) -> JsonObject:
    result = {**obj, "apiVersion": resource.api_version(target), "kind": resource.kind}
    if version != "v1beta1":
        return result
    spec = result.get("spec") or {}
    if resource.plural == "resourceslices" and spec.get("devices"):
        result["spec"] = {**spec, "devices": [device(d) for d in spec["devices"]]}
    if resource.plural == "resourceclaims" and (spec.get("devices") or {}).get("requests"):
        requests = [request(r) for r in spec["devices"]["requests"]]
        result["spec"] = {**spec, "devices": {**spec["devices"], "requests": requests}}
    return result


def _flat_device(device: JsonObject) -> JsonObject:
    return {"name": device.get("name"), **(device.get("basic") or {})}


def _basic_device(device: JsonObject) -> JsonObject:
    return {"name": device.get("name"), "basic": {k: v for k, v in device.items() if k != "name"}}


def _nested_request(request: JsonObject) -> JsonObject:
    if "firstAvailable" in request:
        return request
    return {"name": request.get("name"), "exactly": {k: v for k, v in request.items() if k != "name"}}


def _flat_request(request: JsonObject) -> JsonObject:
    if "exactly" not in request:
        return request
    return {"name": request.get("name"), **request["exactly"]}
