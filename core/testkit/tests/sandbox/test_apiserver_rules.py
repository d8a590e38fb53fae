"""The embedded API server: what it refuses, drops, applies and streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import ApiFault, ApiServer

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
STATUS = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c/status"
TAINT = {"key": "k", "effect": "NoSchedule"}


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(bookmarks=0.05) as running:
        yield running


def slice_of(*devices: JsonObject, **spec: object) -> JsonObject:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    body = {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": list(devices), **spec}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"generateName": "s-"},
        "spec": {key: value for key, value in body.items() if value is not None},
    }


def many(count: int, **fields: object) -> list[JsonObject]:
    return [{"name": f"d{n}", **fields} for n in range(count)]


def attributes(count: int, value: JsonObject) -> JsonObject:
    return {f"a{n}": value for n in range(count)}


def sets(count: int, counters: int = 1) -> list[JsonObject]:
    return [{"name": f"s{n}", "counters": {f"c{m}": {"value": "1"} for m in range(counters)}} for n in range(count)]


@pytest.mark.parametrize(
    "good",
    [
        slice_of(*many(128)),
        slice_of(*many(63), {"name": "x", "taints": [TAINT]}),
        slice_of({"name": "a", "attributes": attributes(31, {"int": 1}), "capacity": {"b": {"value": "-1"}}}),
        slice_of({"name": "a", "attributes": {"x": {"ints": list(range(47))}, "y": {"int": 1}}}),
        slice_of({"name": "a", "attributes": {"x": {"string": "x" * 64}, "d.example.com/x": {"version": "1.2.3-a+b"}}}),
        slice_of({"name": "a", "attributes": {"a/b/c": {"bool": False}}}),
        slice_of(devices=None, sharedCounters=sets(8, 32)),
        slice_of(driver="DRA.example.com", pool={"name": "a.b/c", "generation": 0, "resourceSliceCount": 1}),
    ],
)
async def test_what_the_api_takes_is_taken(server: ApiServer, good: JsonObject) -> None:
    server.create(good)


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (slice_of(*many(129)), "spec.devices"),
        (slice_of(*many(64), {"name": "x", "taints": [TAINT]}), "spec.devices"),
        (slice_of(*many(64), {"name": "x", "attributes": {"l": {"bools": [True]}}}), "spec.devices"),
        (slice_of({"name": "a", "attributes": attributes(33, {"int": 1})}), "spec.devices[0]"),
        (slice_of({"name": "a", "attributes": {"x": {"ints": list(range(49))}}}), "spec.devices[0].attributes"),
        (slice_of({"name": "a", "attributes": {"x": {"string": "é" * 33}}}), "spec.devices[0].attributes[x].string"),
        (slice_of({"name": "a", "attributes": {"x": {"version": "v1.2.3"}}}), "spec.devices[0].attributes[x].version"),
        (slice_of({"name": "a", "attributes": {"x": {}}}), "spec.devices[0].attributes[x]"),
        (slice_of({"name": "a", "attributes": {"x": {"int": 1, "bool": True}}}), "spec.devices[0].attributes[x]"),
        (slice_of({"name": "a", "attributes": {"x": {"ints": []}}}), "spec.devices[0].attributes[x]"),
        (slice_of({"name": "a", "attributes": {"a-b": {"int": 1}}}), "spec.devices[0].attributes"),
        (slice_of({"name": "a", "attributes": {"x" * 33: {"int": 1}}}), "spec.devices[0].attributes"),
        (slice_of({"name": "A"}), "spec.devices[0].name"),
        (slice_of({"name": "a"}, {"name": "a"}), "spec.devices[1]"),
        (slice_of({"name": "a", "taints": [TAINT] * 17}), "spec.devices[0].taints"),
        (slice_of({"name": "a", "bindingConditions": ["x"]}), "spec.devices[0].bindingFailureConditions"),
        (
            slice_of({"name": "a", "capacity": {"c": {"value": "1", "requestPolicy": {"default": "1"}}}}),
            "spec.devices[0].capacity[c].requestPolicy",
        ),
        (slice_of({"name": "a"}, sharedCounters=sets(1)), "spec"),
        (slice_of(devices=None, sharedCounters=sets(9)), "spec.sharedCounters"),
        (slice_of(devices=None, sharedCounters=sets(1, 33)), "spec.sharedCounters[0].counters"),
        (slice_of(driver="a_b"), "spec.driver"),
        (slice_of(nodeName=None), "spec"),
        (slice_of(allNodes=True), "spec"),
        (slice_of(pool={"name": "a//c", "resourceSliceCount": 1}), "spec.pool.name"),
        (slice_of(pool={"name": "a", "resourceSliceCount": 0}), "spec.pool.resourceSliceCount"),
        (slice_of({"name": "a"}, partitionTypeAttribute="d.example.com/t"), "spec.partitionTypeAttribute"),
    ],
)
async def test_what_the_api_refuses_is_refused_with_its_path(server: ApiServer, bad: JsonObject, field: str) -> None:
    with pytest.raises(ApiFault) as caught:
        server.create(bad)
    assert (caught.value.code, [cause.field for cause in caught.value.causes]) == (422, [field])


@pytest.mark.parametrize(("key", "value"), [("driver", "e.example.com"), ("nodeName", "n2")])
async def test_driver_and_node_of_a_slice_are_immutable(server: ApiServer, key: str, value: str) -> None:
    made = server.create(slice_of())
    made["spec"][key] = value
    with pytest.raises(ApiFault, match="immutable"):
        server.update(made)


async def test_a_gate_that_is_off_drops_its_fields_unless_the_object_uses_them(server: ApiServer) -> None:
    with_taint = server.create(slice_of({"name": "a", "taints": [TAINT]}))
    server.faults.off.add("DRADeviceTaints")
    assert server.create(slice_of({"name": "a", "taints": [TAINT]}))["spec"]["devices"] == [{"name": "a"}]
    with_taint["spec"]["devices"].append({"name": "b", "taints": [TAINT]})
    assert all(device["taints"] for device in server.update(with_taint)["spec"]["devices"])


async def test_a_list_attribute_without_its_gate_is_an_attribute_without_value(server: ApiServer) -> None:
    server.faults.off.add("DRAListTypeAttributes")
    with pytest.raises(ApiFault) as caught:
        server.create(slice_of({"name": "a", "attributes": {"x": {"ints": [1]}}}))
    assert [cause.field for cause in caught.value.causes] == ["spec.devices[0].attributes[x]"]


def make_claim(server: ApiServer, *devices: str) -> JsonObject:
    claim = server.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "ns"},
            "spec": {"devices": {}},
        }
    )
    results = [{"request": "r", "driver": "d", "pool": "p", "device": device} for device in devices]
    return server.update_status({**claim, "status": {"allocation": {"devices": {"results": results}}}})


def entry(device: str, **fields: object) -> JsonObject:
    return {"driver": "d", "pool": "p", "device": device, **fields}


async def apply(
    server: ApiServer, manager: str, *entries: JsonObject, uid: str | None = None
) -> tuple[int, JsonObject]:
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"} | ({"uid": uid} if uid else {}),
        "status": {"devices": list(entries)},
    }
    headers = {"Content-Type": "application/apply-patch+yaml"}
    async with aiohttp.ClientSession(server.url) as http:
        params = {"fieldManager": manager, "force": "true"}
        async with http.patch(STATUS, params=params, data=json.dumps(body), headers=headers) as answer:
            return answer.status, await answer.json()


def devices(server: ApiServer) -> list[str]:
    return [e["device"] for e in server.get("resourceclaims", "c", "ns")["status"].get("devices") or ()]


async def test_each_manager_applies_its_own_entries(server: ApiServer) -> None:
    make_claim(server, "a", "b", "c")
    await apply(server, "one", entry("a"), entry("b"))
    await apply(server, "two", entry("c"))
    await apply(server, "one", entry("b", data={"x": 1}))
    assert devices(server) == ["b", "c"]
    await apply(server, "one")
    assert devices(server) == ["c"]


async def test_applying_the_same_again_changes_nothing(server: ApiServer) -> None:
    make_claim(server, "a")
    _, first = await apply(server, "one", entry("a"))
    assert await apply(server, "one", entry("a")) == (200, first)


@pytest.mark.parametrize(
    ("method", "content"),
    [
        ("PUT", "application/json"),
        ("PATCH", "application/merge-patch+json"),
        ("PATCH", "application/strategic-merge-patch+json"),
        ("PATCH", "application/apply-patch+yaml"),
    ],
)
async def test_beside_parameters_that_were_sent_with_blanks_no_json_changes_a_status(
    server: ApiServer, method: str, content: str
) -> None:
    # Measured with Kubernetes 1.37.2, for parameters {"mtu": 1400, "podIfName": "net1"}.
    claim = make_claim(server, "a")
    server.faults.loose_parameters = True
    body = json.dumps({**claim, "status": {**claim["status"], "devices": [entry("a")]}})
    async with aiohttp.ClientSession(server.url) as http:
        params = {"fieldManager": "one", "force": "true"}
        sent = http.request(method, STATUS, params=params, data=body, headers={"Content-Type": content})
        async with sent as answer:
            causes = (await answer.json())["details"]["causes"]
    assert (answer.status, [cause["field"] for cause in causes]) == (422, ["status.allocation"])
    assert devices(server) == []


async def test_an_apply_for_another_uid_or_a_foreign_device_is_refused(server: ApiServer) -> None:
    make_claim(server, "a")
    status, body = await apply(server, "one", entry("a"), uid="other")
    assert (status, [cause["field"] for cause in body["details"]["causes"]]) == (422, ["metadata.uid"])
    status, body = await apply(server, "one", entry("z"))
    assert status == 422
    assert body["details"]["causes"][0]["message"] == "must be an allocated device in the claim"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"data": []}, "data"),
        ({"data": {"x": "y" * 10240}}, "data"),
        ({"networkData": {"ips": ["10.0.0.1"]}}, "networkData.ips[0]"),
        ({"networkData": {"ips": ["2001:DB8::1/64"]}}, "networkData.ips[0]"),
        ({"networkData": {"interfaceName": "i" * 257}}, "networkData.interfaceName"),
        ({"conditions": [{"type": "R", "status": "True", "reason": "R"}]}, "conditions[0].lastTransitionTime"),
        (
            {"conditions": [{"type": "R", "status": "True", "reason": "", "lastTransitionTime": "t"}]},
            "conditions[0].reason",
        ),
    ],
)
async def test_an_entry_that_breaks_a_limit_is_refused(server: ApiServer, fields: JsonObject, path: str) -> None:
    make_claim(server, "a")
    status, body = await apply(server, "one", entry("a", **fields))
    assert (status, [c["field"] for c in body["details"]["causes"]]) == (422, [f"status.devices[0].{path}"])


async def test_entries_go_away_with_the_allocation(server: ApiServer) -> None:
    make_claim(server, "a")
    await apply(server, "one", entry("a"))
    claim = server.get("resourceclaims", "c", "ns")
    del claim["status"]["allocation"]
    assert server.update_status(claim)["status"] == {}


async def test_an_allocation_changes_only_by_being_cleared(server: ApiServer) -> None:
    claim = make_claim(server, "a")
    claim["status"]["allocation"]["devices"]["results"][0]["device"] = "b"
    with pytest.raises(ApiFault, match="cannot be modified"):
        server.update_status(claim)


async def follow(server: ApiServer, query: str, count: int) -> list[tuple[str, JsonObject]]:
    seen: list[tuple[str, JsonObject]] = []
    async with (
        aiohttp.ClientSession(server.url) as http,
        http.get(f"{SLICES}?watch=1&{query}") as answer,
    ):
        async for line in answer.content:
            event = json.loads(line)
            seen.append((event["type"], event["object"]))
            if len(seen) == count:
                break
    return seen


async def test_a_watch_goes_on_from_a_version_and_filters(server: ApiServer) -> None:
    made = server.create(slice_of({"name": "a"}))
    start = server.version
    made["spec"]["devices"] = []
    server.update(made)
    server.create({**slice_of(), "spec": {**slice_of()["spec"], "nodeName": "n2"}})
    server.delete("resourceslices", made["metadata"]["name"])
    seen = await follow(server, f"resourceVersion={start}&fieldSelector=spec.nodeName%3Dn1", 2)
    assert [(kind, obj["metadata"]["name"]) for kind, obj in seen] == [
        ("MODIFIED", made["metadata"]["name"]),
        ("DELETED", made["metadata"]["name"]),
    ]
    assert int(seen[1][1]["metadata"]["resourceVersion"]) == server.version


async def test_a_watch_without_a_version_starts_with_what_is_there(server: ApiServer) -> None:
    server.create(slice_of())
    assert [kind for kind, _ in await follow(server, "allowWatchBookmarks=true", 2)] == ["ADDED", "BOOKMARK"]


async def test_a_watch_from_a_compacted_version_is_told_410(server: ApiServer) -> None:
    start = server.version
    server.create(slice_of())
    server.compact()
    ((kind, status),) = await follow(server, f"resourceVersion={start}", 5)
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")


async def test_a_watch_ends_when_it_is_cut_and_after_its_time(server: ApiServer) -> None:
    watch = asyncio.create_task(follow(server, "resourceVersion=0", 5))
    await server.until(lambda: bool(server.requests))
    server.faults.cut_watches()
    assert await watch == []
    assert await follow(server, "resourceVersion=0&timeoutSeconds=0", 5) == []
