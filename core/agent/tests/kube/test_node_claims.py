"""The claims of all pods of a node, however a pod names them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dragoman.kube.claims import ClaimReader
from dragoman.kube.client import KubeClient
from dragoman.kube.conditions import TransitionTimes
from dragoman.kube.node_claims import NodeClaimReader
from dragoman.kube.versions import Versions
from dragoman.model.claims import StatusEntry
from dragoman.model.errors import Refused, Unavailable
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

Finish = Callable[[Awaitable[Any]], Awaitable[Any]]
NODE = "n1"


@pytest.fixture
def reader(client: KubeClient, versions: Versions, clock: VirtualClock) -> NodeClaimReader:
    return NodeClaimReader(client, ClaimReader(client, versions, clock, TransitionTimes()), clock, node=NODE)


def claim(server: ApiServer, name: str, namespace: str = "ns", status: dict[str, Any] | None = None) -> None:
    made = server.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "net"}}]}},
        }
    )
    if status is not None:
        server.update_status({**made, "status": status})


def pod(
    server: ApiServer,
    name: str,
    *claims: dict[str, str],
    node: str = NODE,
    namespace: str = "ns",
    **status: Any,
) -> None:
    made = server.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "resourceClaims": list(claims)},
        }
    )
    if status:
        server.update_status({**made, "status": status})


def direct(name: str) -> dict[str, str]:
    return {"name": "nic", "resourceClaimName": name}


async def names(reader: NodeClaimReader) -> set[tuple[str, str]]:
    return {(claim.namespace, claim.name) for claim in (await reader.of_node()).claims}


async def test_claims_are_found_however_a_pod_names_them(server: ApiServer, reader: NodeClaimReader) -> None:
    for name in ("direct", "made-7", "extended-3", "unnamed"):
        claim(server, name)
    claim(server, "direct", "other")
    pod(server, "p1", direct("direct"))
    pod(
        server,
        "p2",
        {"name": "nic", "resourceClaimTemplateName": "t"},
        resourceClaimStatuses=[{"name": "nic", "resourceClaimName": "made-7"}, {"name": "not made"}],
    )
    pod(server, "p3", extendedResourceClaimStatus={"resourceClaimName": "extended-3", "requestMappings": []})
    pod(server, "p4", direct("direct"), namespace="other")
    pod(server, "plain")
    assert await names(reader) == {("ns", "direct"), ("ns", "made-7"), ("ns", "extended-3"), ("other", "direct")}


async def test_pods_are_asked_for_by_node_and_claims_by_name(server: ApiServer, reader: NodeClaimReader) -> None:
    claim(server, "here")
    claim(server, "elsewhere")
    pod(server, "p1", direct("here"))
    pod(server, "p2", direct("here"))
    pod(server, "p3", direct("elsewhere"), node="n2")
    assert await names(reader) == {("ns", "here")}
    assert ("list", f"spec.nodeName={NODE}") in server.selectors
    claims = [request for request in server.requests if "resourceclaims" in request[1]]
    assert claims == [("get", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/here")]


async def test_ended_pods_count_as_their_devices_may_not_be_given_back_yet(
    server: ApiServer, reader: NodeClaimReader
) -> None:
    claim(server, "c")
    pod(server, "p", direct("c"), phase="Failed")
    assert await names(reader) == {("ns", "c")}


async def test_entries_of_all_drivers_come_with_the_claim(server: ApiServer, reader: NodeClaimReader) -> None:
    share = "3f0c6a1e-52d4-4c55-9c1f-0c8b7f9c2f10"
    results = [
        {"request": "r", "driver": "net.dragoman.dev", "pool": NODE, "device": "vf0", "shareID": share},
        {"request": "g", "driver": "gpu.example.com", "pool": "p", "device": "gpu0"},
    ]
    data = {"apiVersion": "status.dragoman.dev/v1", "manager": "sr-iov"}
    entries = [
        {"driver": "net.dragoman.dev", "pool": NODE, "device": "vf0", "shareID": share, "data": data},
        {"driver": "gpu.example.com", "pool": "p", "device": "gpu0"},
    ]
    selector = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [NODE]}]}]}
    allocation = {"devices": {"results": results}, "nodeSelector": selector}
    claim(server, "c", status={"allocation": allocation, "devices": entries})
    pod(server, "p", direct("c"))
    (found,) = (await reader.of_node()).claims
    assert found.entries == (
        StatusEntry(driver="net.dragoman.dev", pool=NODE, device="vf0", share_id=share, data=data),
        StatusEntry(driver="gpu.example.com", pool="p", device="gpu0"),
    )


async def test_a_claim_that_is_gone_is_left_out(server: ApiServer, reader: NodeClaimReader) -> None:
    claim(server, "c")
    pod(server, "p", direct("gone"), {"name": "other", "resourceClaimName": "c"})
    read = await reader.of_node()
    assert ([each.name for each in read.claims], read.unreadable) == (["c"], ())


@pytest.mark.parametrize("status", [403, 500])
async def test_a_claim_that_cannot_be_read_is_named_and_hides_no_other(
    server: ApiServer, reader: NodeClaimReader, finish: Finish, status: int
) -> None:
    claim(server, "good")
    claim(server, "bad")
    pod(server, "p", direct("good"), {"name": "other", "resourceClaimName": "bad"})
    server.faults.fail(status, path="resourceclaims/bad", count=100)
    read = await finish(reader.of_node())
    assert [each.name for each in read.claims] == ["good"]
    (unreadable,) = read.unreadable
    assert "claim ns/bad" in unreadable


async def test_a_server_that_does_not_answer_is_unavailable(
    server: ApiServer, reader: NodeClaimReader, finish: Finish
) -> None:
    server.faults.fail(503, path="/pods", count=100)
    with pytest.raises(Unavailable):
        await finish(reader.of_node())


async def test_a_passing_failure_is_waited_out(server: ApiServer, reader: NodeClaimReader, finish: Finish) -> None:
    claim(server, "c")
    pod(server, "p", direct("c"))
    server.faults.fail(503, path="/pods", count=2)
    assert len((await finish(reader.of_node())).claims) == 1


async def test_a_missing_permission_is_named(server: ApiServer, reader: NodeClaimReader) -> None:
    server.faults.fail(403, reason="Forbidden", message="no", path="/pods", count=100)
    with pytest.raises(Refused, match="allow list on pods"):
        await reader.of_node()


@pytest.mark.parametrize("count", [2, 3])
async def test_pages_are_followed_to_their_end(
    server: ApiServer, client: KubeClient, versions: Versions, clock: VirtualClock, count: int
) -> None:
    reader = NodeClaimReader(client, ClaimReader(client, versions, clock, TransitionTimes()), clock, node=NODE, page=2)
    for number in range(count):
        claim(server, f"c{number}")
        pod(server, f"p{number}", direct(f"c{number}"))
    assert await names(reader) == {("ns", f"c{number}") for number in range(count)}


async def test_a_list_that_expired_between_two_pages_is_begun_again_later(
    server: ApiServer, reader: NodeClaimReader
) -> None:
    server.faults.fail(410, reason="Expired", path="/pods")
    with pytest.raises(Unavailable):
        await reader.of_node()
