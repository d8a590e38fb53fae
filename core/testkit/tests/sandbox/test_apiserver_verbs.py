"""The embedded API server over HTTP: verbs, metadata, preconditions, versions."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
import warnings
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import ApiServer

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
PODS = "/api/v1/namespaces/ns/pods"


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as running:
        yield running


@pytest.fixture
async def http(server: ApiServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url) as session:
        yield session


def slice_of(name: str, *devices: JsonObject, node: str = "n1", driver: str = "d.example.com") -> JsonObject:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": list(devices)}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


async def call(
    http: aiohttp.ClientSession, method: str, path: str, body: Any = None, kind: str = "application/json"
) -> tuple[int, JsonObject]:
    async with http.request(method, path, json=body, headers={"Content-Type": kind}) as answer:
        text = await answer.text()
        return answer.status, (await answer.json() if text.startswith("{") else {"text": text})


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("/api", "versions", ["v1"]),
        ("/apis/resource.k8s.io", "kind", "APIGroup"),
        ("/version", "minor", "37"),
    ],
)
async def test_discovery_answers(http: aiohttp.ClientSession, path: str, key: str, value: object) -> None:
    status, body = await call(http, "GET", path)
    assert (status, body[key]) == (200, value)


@pytest.mark.parametrize("path", ["/apis/unknown.example.com", "/x"])
async def test_an_unknown_path_is_a_plain_404(http: aiohttp.ClientSession, path: str) -> None:
    assert await call(http, "GET", path) == (404, {"text": "404 page not found\n"})


@pytest.mark.parametrize("path", ["/apis/resource.k8s.io/v9/resourceslices", "/api/v1/things"])
async def test_an_unknown_version_or_kind_of_a_known_group_is_not_found_without_a_name(
    http: aiohttp.ClientSession, path: str
) -> None:
    status, body = await call(http, "GET", path)
    assert (status, body["reason"], body["details"]) == (404, "NotFound", {})


async def test_a_life_of_an_object(http: aiohttp.ClientSession) -> None:
    status, made = await call(http, "POST", SLICES, slice_of("s"))
    assert (status, made["metadata"]["generation"]) == (201, 1)
    made["spec"]["devices"] = [{"name": "a"}]
    _, updated = await call(http, "PUT", f"{SLICES}/s", made)
    assert (updated["metadata"]["generation"], updated["metadata"]["uid"]) == (2, made["metadata"]["uid"])
    assert int(updated["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    _, patched = await call(
        http, "PATCH", f"{SLICES}/s", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json"
    )
    assert (patched["metadata"]["labels"], patched["metadata"]["generation"]) == ({"a": "b"}, 2)
    assert (await call(http, "DELETE", f"{SLICES}/s"))[0] == 200
    status, missing = await call(http, "GET", f"{SLICES}/s")
    assert (status, missing["reason"], missing["details"]["kind"]) == (404, "NotFound", "resourceslices")


async def test_an_update_that_changes_nothing_keeps_the_resource_version(http: aiohttp.ClientSession) -> None:
    _, made = await call(http, "POST", SLICES, slice_of("s", {"name": "a"}))
    _, same = await call(http, "PUT", f"{SLICES}/s", made)
    assert same == made


async def test_a_generated_name_is_cut_to_63_characters(http: aiohttp.ClientSession) -> None:
    body = slice_of("")
    body["metadata"] = {"generateName": "x" * 80}
    names = {(await call(http, "POST", SLICES, body))[1]["metadata"]["name"] for _ in range(3)}
    assert {len(name) for name in names} == {63}
    assert len(names) == 3


async def test_a_taken_name_an_old_version_and_another_uid_are_conflicts(http: aiohttp.ClientSession) -> None:
    _, made = await call(http, "POST", SLICES, slice_of("s"))
    assert (await call(http, "POST", SLICES, slice_of("s")))[1]["reason"] == "AlreadyExists"
    stale = {**made, "metadata": {**made["metadata"], "resourceVersion": "1"}}
    assert (await call(http, "PUT", f"{SLICES}/s", stale))[1]["reason"] == "Conflict"
    wrong = {"preconditions": {"uid": "other"}}
    assert (await call(http, "DELETE", f"{SLICES}/s", wrong))[0] == 409


async def test_v1beta1_nests_devices_and_unnests_requests(http: aiohttp.ClientSession, server: ApiServer) -> None:
    body = slice_of("s", {"name": "a", "basic": {"attributes": {"x": {"int": 1}}}})
    await call(http, "POST", "/apis/resource.k8s.io/v1beta1/resourceslices", body)
    assert server.get("resourceslices", "s")["spec"]["devices"] == [{"name": "a", "attributes": {"x": {"int": 1}}}]
    _, old = await call(http, "GET", "/apis/resource.k8s.io/v1beta1/resourceslices/s")
    assert (old["apiVersion"], old["spec"]["devices"]) == ("resource.k8s.io/v1beta1", body["spec"]["devices"])
    server.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "ns"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
        }
    )
    _, claim = await call(http, "GET", "/apis/resource.k8s.io/v1beta1/namespaces/ns/resourceclaims/c")
    assert claim["spec"]["devices"]["requests"] == [{"name": "r", "deviceClassName": "x"}]


async def test_lists_are_filtered_by_field_label_and_namespace(http: aiohttp.ClientSession, server: ApiServer) -> None:
    for node, driver in (("n1", "a.example.com"), ("n1", "b.example.com"), ("n2", "a.example.com")):
        server.create(slice_of(f"{node}-{driver[0]}", node=node, driver=driver))
    query = "fieldSelector=spec.nodeName%3Dn1,spec.driver%3Da.example.com"
    _, found = await call(http, "GET", f"{SLICES}?{query}")
    assert [item["metadata"]["name"] for item in found["items"]] == ["n1-a"]
    for name, namespace, labels in (("p", "ns", {"app": "x"}), ("q", "ns", {"app": "y"}), ("r", "other", {"app": "x"})):
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        server.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}})
    for selector, names in (
        ("app=x", ["p"]),
        ("app!=x", ["q"]),
        ("app in (x,y)", ["p", "q"]),
        ("app notin (x)", ["q"]),
        ("app", ["p", "q"]),
        ("!app", []),
    ):
        async with http.get(PODS, params={"labelSelector": selector}) as answer:
            found = await answer.json()
        assert [item["metadata"]["name"] for item in found["items"]] == names


async def test_an_unknown_field_selector_is_a_bad_request(http: aiohttp.ClientSession) -> None:
    status, body = await call(http, "GET", f"{SLICES}?fieldSelector=spec.color%3Dred")
    assert (status, body["reason"]) == (400, "BadRequest")


async def test_spec_and_status_are_written_apart(http: aiohttp.ClientSession) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"a": 1}, "status": {"phase": "X"}}
    _, made = await call(http, "POST", PODS, pod)
    assert "status" not in made
    _, updated = await call(http, "PUT", f"{PODS}/p/status", {**made, "spec": {"a": 2}, "status": {"phase": "Running"}})
    assert (updated["spec"], updated["status"], updated["metadata"]["generation"]) == (
        {"a": 1},
        {"phase": "Running"},
        1,
    )
    _, again = await call(http, "PUT", f"{PODS}/p", {**updated, "spec": {"a": 3}, "status": {}})
    assert (again["spec"], again["status"]) == ({"a": 3}, {"phase": "Running"})


async def test_finalizers_hold_a_deleted_object_until_they_are_removed(
    http: aiohttp.ClientSession, server: ApiServer
) -> None:
    body = slice_of("s")
    body["metadata"]["finalizers"] = ["x/y"]
    server.create(body)
    await call(http, "DELETE", f"{SLICES}/s")
    held = server.get("resourceslices", "s")
    assert "deletionTimestamp" in held["metadata"]
    held["metadata"]["finalizers"] = []
    server.update(held)
    assert server.list("resourceslices") == []


async def test_a_scheduled_pod_is_only_marked_until_its_kubelet_deletes_it(
    http: aiohttp.ClientSession, server: ApiServer
) -> None:
    server.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": {"nodeName": "n1"}}
    )
    await call(http, "DELETE", f"{PODS}/p")
    assert server.get("pods", "p", "ns")["metadata"]["deletionGracePeriodSeconds"] == 30
    await call(http, "DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert server.list("pods") == []


async def test_a_collection_is_deleted_by_selector(http: aiohttp.ClientSession, server: ApiServer) -> None:
    for node in ("n1", "n2"):
        server.create(slice_of(node, node=node))
    await call(http, "DELETE", f"{SLICES}?fieldSelector=spec.nodeName%3Dn1")
    assert [s["metadata"]["name"] for s in server.list("resourceslices")] == ["n2"]


async def test_faults_fail_only_what_they_name(http: aiohttp.ClientSession, server: ApiServer) -> None:
    server.faults.fail(503, verb="create", path="resourceslices", retry_after=3)
    assert (await call(http, "GET", SLICES))[0] == 200
    status, body = await call(http, "POST", SLICES, slice_of("s"))
    assert (status, body["details"]["retryAfterSeconds"], server.list("resourceslices")) == (503, 3, [])
    assert (await call(http, "POST", SLICES, slice_of("s")))[0] == 201


async def test_a_hanging_request_is_let_go_when_faults_are_cleared(
    http: aiohttp.ClientSession, server: ApiServer
) -> None:
    server.faults.hang(verb="list")
    hanging = asyncio.create_task(call(http, "GET", SLICES))
    await server.until(lambda: bool(server.requests))
    assert (await call(http, "GET", SLICES))[0] == 200
    assert not hanging.done()
    server.faults.clear()
    assert (await hanging)[0] == 503


async def test_a_lost_answer_has_had_its_effect(http: aiohttp.ClientSession, server: ApiServer) -> None:
    server.faults.lose_answer(verb="create")
    with pytest.raises(aiohttp.ClientError):
        await call(http, "POST", SLICES, slice_of("s"))
    assert len(server.list("resourceslices")) == 1


@pytest.mark.parametrize("turns", range(8))
async def test_a_client_that_comes_while_the_server_stops_leaves_no_connection_behind(turns: int) -> None:
    with socket.socket() as client, warnings.catch_warnings(record=True) as leaks:
        warnings.simplefilter("always", ResourceWarning)
        async with ApiServer() as server:
            client.connect(("127.0.0.1", urlsplit(server.url).port))
            client.sendall(f"GET {SLICES}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            for _ in range(turns):
                await asyncio.sleep(0)
        # What was accepted last is known to the server two turns later, and is closed in the ones after that.
        for _ in range(4):
            await asyncio.sleep(0)
        gc.collect()
    assert [str(leak.message) for leak in leaks] == []


async def test_a_server_that_stops_for_now_keeps_its_port_and_serves_nobody(server: ApiServer) -> None:
    place = ("127.0.0.1", urlsplit(server.url).port)
    await server.stop(for_now=True)
    with socket.socket() as client, socket.socket() as other:
        assert client.connect_ex(place) == errno.ECONNREFUSED
        with pytest.raises(OSError, match="in use"):
            other.bind(place)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session:
        assert (await call(session, "GET", SLICES))[0] == 200


async def test_a_port_on_which_somebody_listens_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        await ApiServer(port=taken.getsockname()[1]).start()
