"""Claims as anybody may make them, with JSON that decoders do not take: one of them costs nobody anything else."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from loguru import logger

from dragoman.kube.claims import ClaimReader
from dragoman.kube.client import KubeClient
from dragoman.kube.cluster import KubeCluster
from dragoman.kube.collection import SYNCED, follow, read_all
from dragoman.kube.conditions import TransitionTimes
from dragoman.kube.reading import LEVELS, TOO_DEEP, is_cut, read
from dragoman.kube.status import StatusWriter
from dragoman.kube.versions import Versions
from dragoman.model.claims import ClaimRef
from dragoman.model.parameters import merge
from dragoman.model.status import ClaimStatus
from dragoman_hookspecs import InvalidConfig, JsonObject
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

from .statusclaims import DRIVER, OTHER, device, result

CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"
PLACE = "@opaque@"
DEEP = [b'{"a":' * depth + b"1" + b"}" * depth for depth in (1000, 2500, 1600, LEVELS)]
ODD = {
    "half of a surrogate pair": rb'{"a":"\ud800"}',
    "another half, not at the end": rb'{"\udc00b":1}',
    "bytes that are no text": b'{"a":"\xff"}',
    "objects within objects": DEEP[0],
    "as deep as 10 KiB are": DEEP[2],
    "lists within lists, with brackets in texts": b'{"a":' + b"[" * 4000 + rb'"]]}\"]"' + b"]" * 4000 + b"}",
}
odd = pytest.mark.parametrize("spelling", ODD.values(), ids=ODD)


def claim(name: str, parameters: Any = PLACE) -> JsonObject:
    opaque = {"driver": DRIVER, "parameters": parameters}
    request = {"name": "r", "exactly": {"deviceClassName": "net"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"devices": {"requests": [request], "config": [{"opaque": opaque}]}},
    }


def spell(server: ApiServer, spelling: bytes) -> None:
    """Show the parameters of claims so from now on."""
    server.faults.spellings[json.dumps(PLACE).encode()] = spelling


def allocated(server: ApiServer, data: Any = PLACE, parameters: Any = PLACE) -> ClaimRef:
    """Make claim ``ns/c``, whose device ``a`` has these parameters and ``g0`` of another driver this data."""
    made = server.create(claim("c"))
    opaque = {"driver": DRIVER, "parameters": parameters}
    devices = {
        "results": [result("a"), result("g0", driver="gpu.example.com", pool="p")],
        "config": [{"source": "FromClaim", "opaque": opaque}],
    }
    entries = [OTHER | {"data": {"x": data}}]
    server.update_status({**made, "status": {"allocation": {"devices": devices}, "devices": entries}})
    return ClaimRef(uid=made["metadata"]["uid"], namespace="ns", name="c")


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    told: list[str] = []
    sink = logger.add(lambda message: told.append(message.record["message"]), level="WARNING")
    yield told
    logger.remove(sink)


@odd
async def test_one_odd_claim_hides_no_other_of_a_list(server: ApiServer, client: KubeClient, spelling: bytes) -> None:
    for name, parameters in (("a", {"x": 1}), ("odd", PLACE), ("z", {"x": 2})):
        server.create(claim(name, parameters))
    spell(server, spelling)
    items, _ = await read_all(client, CLAIMS)
    assert [item["metadata"]["name"] for item in items] == ["a", "odd", "z"]
    assert [item["spec"]["devices"]["config"][0]["opaque"]["parameters"] for item in (items[0], items[2])] == [
        {"x": 1},
        {"x": 2},
    ]


@odd
async def test_a_controller_follows_claims_whatever_one_of_them_holds(
    server: ApiServer, client: KubeClient, clock: VirtualClock, spelling: bytes
) -> None:
    server.create(claim("before"))
    spell(server, spelling)
    told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def tell(type_: str, item: JsonObject) -> None:
        told.put_nowait((type_, item.get("metadata", {}).get("name", "")))

    following = asyncio.create_task(follow(client, clock, CLAIMS, tell))
    async with asyncio.timeout(60):
        assert [await told.get() for _ in range(2)] == [("ADDED", "before"), (SYNCED, "")]
        await server.until(lambda: ("watch", CLAIMS) in server.requests)
        for name in ("odd", "after"):
            server.create(claim(name, PLACE if name == "odd" else {}))
        assert [await told.get() for _ in range(2)] == [("ADDED", "odd"), ("ADDED", "after")]
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    assert server.requests.count(("list", CLAIMS)) == 1


@odd
async def test_a_controller_reads_the_claim_itself(
    server: ApiServer, client: KubeClient, clock: VirtualClock, spelling: bytes
) -> None:
    server.create(claim("odd"))
    spell(server, spelling)
    cluster = KubeCluster(client, clock, asyncio.get_running_loop(), manager="tests")
    found = await asyncio.to_thread(cluster.get, "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/odd")
    assert found["metadata"]["name"] == "odd"


async def test_what_is_too_deep_is_told_once_of_each_object_and_nothing_of_others(
    server: ApiServer, client: KubeClient, warnings: list[str]
) -> None:
    for name in ("good", "deep", "deeper"):
        server.create(claim(name, {} if name == "good" else PLACE))
    spell(server, DEEP[0])
    for _ in range(3):
        await read_all(client, CLAIMS)
    assert [text.partition(" is read")[0] for text in warnings] == ["ResourceClaim ns/deep", "ResourceClaim ns/deeper"]
    assert "written flatter" in warnings[0]


async def test_a_claim_with_half_a_surrogate_pair_is_prepared_as_kubernetes_reads_it(
    server: ApiServer, client: KubeClient, versions: Versions, clock: VirtualClock
) -> None:
    ref = allocated(server, data={})
    spell(server, ODD["half of a surrogate pair"])
    found = await ClaimReader(client, versions, clock, TransitionTimes()).read(ref)
    assert merge(found.config, DRIVER, "r") == {"a": "\ufffd"}


@pytest.mark.parametrize("spelling", DEEP)
async def test_parameters_that_are_too_deep_are_a_fault_of_their_claim_told_at_once(
    server: ApiServer, client: KubeClient, versions: Versions, clock: VirtualClock, spelling: bytes
) -> None:
    ref = allocated(server, data={})
    spell(server, spelling)
    found = await ClaimReader(client, versions, clock, TransitionTimes()).read(ref)
    assert [each.device for each in found.results or ()] == ["a", "g0"]
    with pytest.raises(InvalidConfig, match=f"they are nested more than {LEVELS} levels deep: write them flatter"):
        merge(found.config, DRIVER, "r")
    assert merge(found.config, "gpu.example.com", "r") == {}


@odd
async def test_odd_data_of_another_driver_keeps_no_status_from_being_written(
    server: ApiServer, client: KubeClient, versions: Versions, clock: VirtualClock, spelling: bytes
) -> None:
    ref = allocated(server)
    spell(server, spelling)
    found = await ClaimReader(client, versions, clock, TransitionTimes()).read(ref)
    assert [entry.device for entry in found.entries] == ["g0"]
    await StatusWriter(client, versions, clock, TransitionTimes(), driver=DRIVER).write(
        ClaimStatus(claim=ref, devices=(device("a"),))
    )
    entries = server.get("resourceclaims", "c", "ns")["status"]["devices"]
    assert [entry["device"] for entry in entries] == ["g0", "a"]


def test_as_many_levels_are_kept_as_said_and_no_sibling_is_touched() -> None:
    deep: Any = read(b'{"a":[1,' + DEEP[1] + b',"}{"],"b":{"c":[[2]]}}', dict[str, Any])
    assert (deep["a"][0], deep["a"][2], deep["b"]) == (1, "}{", {"c": [[2]]})
    levels, value = 2, deep["a"][1]
    while value != TOO_DEEP:
        levels, value = levels + 1, value["a"]
    assert (levels, is_cut(deep), is_cut(deep["b"])) == (LEVELS, True, False)
