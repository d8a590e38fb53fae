"""Objects that the API server takes, to be spoilt by tests."""

from __future__ import annotations

from typing import Any

from dragoman_allocator.features import Features
from dragoman_allocator.validation import check

Json = dict[str, Any]

ALL = Features.of("all")
DRIVER = "dra.example.com"
SHARE = "11111111-2222-3333-4444-555555555555"


def told(obj: Json, old: Json | None = None, *, gates: Features = ALL, **options: Any) -> list[str]:
    """Give the messages that the API server would answer."""
    return [
        str(error)
        for error in check(obj, old, options.get("subresource"), gates, admin=bool(options.get("admin"))).errors
    ]


def fields(
    obj: Json, old: Json | None = None, *, gates: Features = ALL, subresource: str | None = None
) -> list[tuple[str, str]]:
    """Give field and type of every error."""
    return [
        (error.field, error.type.removeprefix("FieldValue")) for error in check(obj, old, subresource, gates).errors
    ]


def stored(obj: Json) -> Json:
    """Give the object as an update would have it: with a resource version."""
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": "1"}}


def _object(kind: str, spec: Json, version: str = "v1", **meta: Any) -> Json:
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": "x", **meta}, "spec": spec}


def slice_(*devices: Json, version: str = "v1", **spec: Any) -> Json:
    pool = {"name": "pool", "resourceSliceCount": 1}
    found: Json = {"driver": DRIVER, "pool": pool, "allNodes": True, "devices": list(devices), **spec}
    return _object("ResourceSlice", {key: value for key, value in found.items() if value is not None}, version)


def device(name: str = "d", **members: Any) -> Json:
    return {"name": name, **members}


def devices(count: int, **last: Any) -> list[Json]:
    return [device(f"d{n}") for n in range(count - 1)] + [device("last", **last)]


def shareable(value: str | int, policy: Json, name: str = "mem") -> Json:
    return device(allowMultipleAllocations=True, capacity={name: {"value": value, "requestPolicy": policy}})


def request(name: str = "r", **members: Any) -> Json:
    return {"name": name, "exactly": {"deviceClassName": "class", **members}}


def claim(*requests: Json, status: Json | None = None, version: str = "v1", **devices: Any) -> Json:
    spec = {"devices": {"requests": list(requests or [request()]), **devices}}
    found = _object("ResourceClaim", spec, version, namespace="default")
    return found if status is None else {**found, "status": status}


def template(*requests: Json, metadata: Json | None = None, **devices: Any) -> Json:
    spec = {"metadata": metadata or {}, "spec": claim(*requests, **devices)["spec"]}
    return _object("ResourceClaimTemplate", spec, namespace="default")


def selector(expression: str) -> Json:
    return {"cel": {"expression": expression}}


def class_(**spec: Any) -> Json:
    return _object("DeviceClass", spec)


def rule(selector: Json | None = None, **taint: Any) -> Json:
    spec: Json = {"taint": {"key": "k", "effect": "NoSchedule", **taint}}
    return _object("DeviceTaintRule", spec if selector is None else {**spec, "deviceSelector": selector})


def pool_request(status: Json | None = None, **spec: Any) -> Json:
    found = _object("ResourcePoolStatusRequest", {"driver": DRIVER, **spec}, "v1alpha3")
    return found if status is None else {**found, "status": status}


def result(name: str = "d", **members: Any) -> Json:
    return {"request": "r", "driver": DRIVER, "pool": "pool", "device": name, **members}


def allocated(*results: Json, **status: Any) -> Json:
    return {"allocation": {"devices": {"results": list(results)}}, **status}


def consumer(number: int = 1) -> Json:
    return {"resource": "pods", "name": f"pod-{number}", "uid": f"uid-{number}"}
