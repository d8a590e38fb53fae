"""Claims with devices of two drivers, and what is written of them."""

from __future__ import annotations

from dragoman.model.claims import ClaimRef
from dragoman.model.status import Condition, DeviceStatus
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import ApiServer

DRIVER = "net.dragoman.dev"


SHARE = "3f0c6a1e-52d4-4c55-9c1f-0c8b7f9c2f10"


OTHER: JsonObject = {"driver": "gpu.example.com", "pool": "p", "device": "g0", "data": {"theirs": True}}


def result(device: str, share: str | None = None, driver: str = DRIVER, pool: str = "n1") -> JsonObject:
    entry = {"request": "r", "driver": driver, "pool": pool, "device": device}
    return entry | ({"shareID": share} if share else {})


def make_claim(server: ApiServer, *results: JsonObject) -> ClaimRef:
    claim = server.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "ns"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "net"}}]}},
        }
    )
    theirs = result("g0", driver="gpu.example.com", pool="p")
    allocation = {"devices": {"results": [*results, theirs]}}
    server.update_status({**claim, "status": {"allocation": allocation, "devices": [OTHER]}})
    return ClaimRef(uid=claim["metadata"]["uid"], namespace="ns", name="c")


def device(name: str, ready: str = "True", share: str | None = None) -> DeviceStatus:
    condition = Condition(type="Ready", status=ready, reason="Prepared")
    return DeviceStatus(
        driver=DRIVER, pool="n1", device=name, share_id=share, conditions=(condition,), data={"manager": "dummy"}
    )


def entries(server: ApiServer) -> list[JsonObject]:
    status: JsonObject = server.get("resourceclaims", "c", "ns")["status"]
    return list(status.get("devices") or ())


def mine(server: ApiServer) -> list[str]:
    return [entry["device"] for entry in entries(server) if entry["driver"] == DRIVER]


def since(server: ApiServer) -> list[str]:
    return [e["conditions"][0]["lastTransitionTime"] for e in entries(server) if e["driver"] == DRIVER]


def sent(server: ApiServer) -> list[str]:
    return [verb for verb, path in server.requests if "resourceclaims" in path]
