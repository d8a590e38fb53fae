"""Objects of the API as the tests need them."""

from __future__ import annotations

from typing import Any

DRIVER = "gpu.example.com"


def slice_(name: str = "s", *, pool: str = "p", count: int = 1, devices: int = 2, **spec: Any) -> dict[str, Any]:
    of = {"name": pool, "generation": 1, "resourceSliceCount": count}
    given = [{"name": f"d{number}"} for number in range(1, devices + 1)]
    body = {"driver": DRIVER, "nodeName": "n1", "pool": of, "devices": given, **spec}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": body}


def claim(name: str, *devices: str, pool: str = "p", **result: Any) -> dict[str, Any]:
    results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": device, **result} for device in devices]
    status = {
        "allocation": {"devices": {"results": results}},
        "reservedFor": [{"resource": "pods", "name": f"w-{name}"}],
    }
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "status": status}


def rule(name: str = "t", **selector: str) -> dict[str, Any]:
    spec = {"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": name}, "spec": spec}


def request(name: str = "q", *, uid: str = "u1", created: str = "2026-03-01T10:00:00Z", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": uid, "creationTimestamp": created, "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"driver": DRIVER, "limit": 100, **spec}}


def complete(body: dict[str, Any], at: str) -> dict[str, Any]:
    condition = {"type": "Complete", "status": "True", "lastTransitionTime": at, "reason": "R", "message": "m"}
    return {**body, "status": {"poolCount": 0, "conditions": [condition]}}
