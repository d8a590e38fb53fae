from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dragoman.kube.claims import ClaimReader
from dragoman.kube.client import KubeClient
from dragoman.kube.conditions import TransitionTimes
from dragoman.kube.versions import Versions
from dragoman.model.claims import AllocationResult, ClaimRef, Consumer, OpaqueConfig
from dragoman.model.errors import ClaimNotFound, ClaimReplaced, Unavailable
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

Finish = Callable[[Awaitable[Any]], Awaitable[Any]]
SHARE = "3f0c6a1e-52d4-4c55-9c1f-0c8b7f9c2f10"


@pytest.fixture
def reader(client: KubeClient, versions: Versions, clock: VirtualClock) -> ClaimReader:
    return ClaimReader(client, versions, clock, TransitionTimes())


def make_claim(server: ApiServer, status: dict[str, Any] | None = None, *, pod_claim: str = "nic") -> ClaimRef:
    annotations = {"resource.kubernetes.io/pod-claim-name": pod_claim}
    claim = server.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "ns", "annotations": annotations},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "net"}}]}},
        }
    )
    if status is not None:
        server.update_status({**claim, "status": status})
    return ClaimRef(uid=claim["metadata"]["uid"], namespace="ns", name="c")


FULL_STATUS: dict[str, Any] = {
    "allocation": {
        "devices": {
            "results": [
                {
                    "request": "r/sub",
                    "driver": "net.dragoman.dev",
                    "pool": "n1",
                    "device": "vf0",
                    "shareID": SHARE,
                    "consumedCapacity": {"bandwidth": "1G"},
                },
                {"request": "g", "driver": "gpu.example.com", "pool": "p", "device": "gpu0", "adminAccess": True},
            ],
            "config": [
                {
                    "source": "FromClass",
                    "opaque": {"driver": "net.dragoman.dev", "parameters": {"mtu": 9000, "x": [None]}},
                },
                {"source": "FromClaim", "requests": ["r"]},
                {"source": "FromClaim", "requests": ["g"], "opaque": {"driver": "gpu.example.com", "parameters": {}}},
            ],
        },
        "nodeSelector": {"nodeSelectorTerms": []},
    },
    "reservedFor": [
        {"resource": "pods", "name": "p", "uid": "u1"},
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "u2"},
    ],
}


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
async def test_a_claim_is_the_same_in_every_version_with_the_results_of_all_drivers(
    server: ApiServer, reader: ClaimReader, version: str
) -> None:
    server.serve_versions((version,))
    claim = await reader.read(make_claim(server, FULL_STATUS))
    assert claim.results == (
        AllocationResult(
            request="r/sub",
            driver="net.dragoman.dev",
            pool="n1",
            device="vf0",
            share_id=SHARE,
            consumed_capacity={"bandwidth": "1G"},
        ),
        AllocationResult(request="g", driver="gpu.example.com", pool="p", device="gpu0", admin_access=True),
    )
    assert claim.config == (
        OpaqueConfig(source="FromClass", driver="net.dragoman.dev", parameters={"mtu": 9000, "x": [None]}),
        OpaqueConfig(source="FromClaim", driver="gpu.example.com", parameters={}, requests=("g",)),
    )
    assert claim.reserved_for == (
        Consumer(resource="pods", name="p", uid="u1"),
        Consumer(resource="podgroups", name="g", uid="u2", api_group="scheduling.k8s.io"),
    )
    assert (claim.pod_claim_name, claim.generation) == ("nic", 1)


async def test_an_empty_name_in_the_pod_is_none(server: ApiServer, reader: ClaimReader) -> None:
    claim = await reader.read(make_claim(server, FULL_STATUS, pod_claim=""))
    assert claim.pod_claim_name is None


async def test_a_claim_without_allocation_has_no_results(server: ApiServer, reader: ClaimReader) -> None:
    assert (await reader.read(make_claim(server))).results is None


@pytest.mark.parametrize("devices", [None, {}, {"results": None, "config": None}])
async def test_null_lists_are_empty(server: ApiServer, reader: ClaimReader, devices: dict[str, Any] | None) -> None:
    status = {"allocation": {"devices": devices}, "reservedFor": None, "devices": None}
    claim = await reader.read(make_claim(server, status))
    assert (claim.results, claim.config, claim.reserved_for) == ((), (), ())


async def test_a_claim_that_is_not_there_is_not_found(reader: ClaimReader) -> None:
    with pytest.raises(ClaimNotFound, match="claim ns/c does not exist"):
        await reader.read(ClaimRef(uid="u", namespace="ns", name="c"))


async def test_another_uid_is_told_before_anything_else(server: ApiServer, reader: ClaimReader) -> None:
    ref = make_claim(server)
    with pytest.raises(ClaimReplaced, match="old"):
        await reader.read(ClaimRef(uid="old", namespace=ref.namespace, name=ref.name))


async def test_a_group_that_is_not_served_is_unavailable_and_not_a_missing_claim(
    server: ApiServer, reader: ClaimReader, finish: Finish
) -> None:
    ref = make_claim(server)
    server.serve_versions(())
    with pytest.raises(Unavailable):
        await finish(reader.read(ref))


@pytest.mark.parametrize("status", [403, 503])
async def test_a_passing_failure_is_waited_out_within_the_call(
    server: ApiServer, reader: ClaimReader, finish: Finish, status: int
) -> None:
    ref = make_claim(server)
    server.faults.fail(status, path="resourceclaims", count=2)
    assert (await finish(reader.read(ref))).uid == ref.uid
    assert server.requests.count(("get", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c")) == 3


async def test_a_lasting_refusal_names_the_missing_permission(
    server: ApiServer, reader: ClaimReader, finish: Finish
) -> None:
    ref = make_claim(server)
    server.faults.fail(403, reason="Forbidden", message="no", path="resourceclaims", count=100)
    with pytest.raises(Unavailable, match="get on resourceclaims"):
        await finish(reader.read(ref))


async def test_a_server_that_asks_for_a_long_wait_is_not_waited_for(server: ApiServer, reader: ClaimReader) -> None:
    ref = make_claim(server)
    server.faults.fail(429, path="resourceclaims", retry_after=60)
    with pytest.raises(Unavailable):
        await reader.read(ref)


async def test_one_read_is_one_request(server: ApiServer, client: KubeClient, reader: ClaimReader) -> None:
    ref = make_claim(server, FULL_STATUS)
    await reader.read(ref)
    before = client.requests
    await reader.read(ref)
    assert client.requests == before + 1
