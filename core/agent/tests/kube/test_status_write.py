"""Claim status by server-side apply."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dragoman.kube.claims import ClaimReader
from dragoman.kube.client import KubeClient
from dragoman.kube.conditions import TransitionTimes
from dragoman.kube.status import StatusWriter
from dragoman.kube.versions import Versions
from dragoman.model.errors import NotKept, Refused, Unavailable
from dragoman.model.status import ClaimStatus
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer, Cause

from .statusclaims import DRIVER, OTHER, SHARE, device, entries, make_claim, mine, result, sent, since

Make = Callable[[TransitionTimes | None], StatusWriter]


@pytest.fixture
def make(client: KubeClient, versions: Versions, clock: VirtualClock) -> Make:
    return lambda times: StatusWriter(client, versions, clock, times or TransitionTimes(), driver=DRIVER)


@pytest.fixture
def writer(make: Make) -> StatusWriter:
    return make(None)


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
async def test_own_entries_are_applied_beside_those_of_other_drivers(
    server: ApiServer, writer: StatusWriter, version: str
) -> None:
    server.serve_versions((version,))
    ref = make_claim(server, result("a"), result("b", SHARE))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"), device("b", share=SHARE))))
    found = entries(server)
    assert found[0] == OTHER
    assert [(e["device"], e.get("shareID"), e["data"]) for e in found[1:]] == [
        ("a", None, {"manager": "dummy"}),
        ("b", SHARE, {"manager": "dummy"}),
    ]


async def test_entries_that_are_not_given_any_more_are_taken_back(server: ApiServer, writer: StatusWriter) -> None:
    ref = make_claim(server, result("a"), result("b"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"), device("b"))))
    await writer.write(ClaimStatus(claim=ref, devices=(device("b"),)))
    assert mine(server) == ["b"]
    await writer.write(ClaimStatus(claim=ref, devices=()))
    assert entries(server) == [OTHER]


async def test_after_a_read_each_write_is_one_request(
    server: ApiServer, client: KubeClient, versions: Versions, clock: VirtualClock, make: Make
) -> None:
    ref = make_claim(server, result("a"))
    times = TransitionTimes()
    await ClaimReader(client, versions, clock, times).read(ref)
    writer = make(times)
    await writer.write(ClaimStatus(claim=ref, devices=(device("a", "False"),)))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert sent(server) == ["get", "apply", "apply"]


async def test_the_time_of_a_condition_moves_only_with_its_status(
    server: ApiServer, writer: StatusWriter, clock: VirtualClock
) -> None:
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    first = since(server)
    await clock.advance(60)
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert since(server) == first
    await writer.write(ClaimStatus(claim=ref, devices=(device("a", "False"),)))
    assert since(server) > first


async def test_the_time_of_a_condition_survives_a_restart_and_the_same_status_changes_nothing(
    server: ApiServer, writer: StatusWriter, clock: VirtualClock, make: Make
) -> None:
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    before = server.get("resourceclaims", "c", "ns")
    await clock.advance(60)
    await make(None).write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert server.get("resourceclaims", "c", "ns") == before


async def test_a_claim_that_is_gone_is_nobodys_concern(server: ApiServer, writer: StatusWriter) -> None:
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    server.delete("resourceclaims", "c", "ns")
    await writer.write(ClaimStatus(claim=ref, devices=(device("a", "False"),)))
    await writer.write(ClaimStatus(claim=ref, devices=()))
    assert server.list("resourceclaims") == []


@pytest.mark.parametrize("known", [True, False])
async def test_a_claim_of_the_same_name_is_not_written(server: ApiServer, writer: StatusWriter, known: bool) -> None:
    old = make_claim(server, result("a"))
    if known:
        await writer.write(ClaimStatus(claim=old, devices=(device("a"),)))
    server.delete("resourceclaims", "c", "ns")
    make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=old, devices=(device("a", "False"),)))
    assert entries(server) == [OTHER]


async def test_a_uid_that_is_refused_as_immutable_is_a_replaced_claim_too(
    server: ApiServer, writer: StatusWriter
) -> None:
    ref = make_claim(server, result("a"))
    cause = Cause("metadata.uid", "FieldValueInvalid", "field is immutable")
    server.faults.fail(422, verb="apply", reason="Invalid", causes=[cause])
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert mine(server) == []


async def test_a_device_that_the_claim_has_no_longer_is_left_out_quietly(
    server: ApiServer, writer: StatusWriter
) -> None:
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"), device("gone"))))
    assert mine(server) == ["a"]


async def test_a_claim_that_is_not_allocated_any_more_takes_nothing(server: ApiServer, writer: StatusWriter) -> None:
    ref = make_claim(server, result("a"))
    claim = server.get("resourceclaims", "c", "ns")
    server.update_status({**claim, "status": {}})
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert server.get("resourceclaims", "c", "ns")["status"] == {}


async def test_a_denied_driver_may_be_allowed_later_and_the_verbs_are_named(
    server: ApiServer, writer: StatusWriter
) -> None:
    ref = make_claim(server, result("a"))
    text = "changing status.devices requires resourceclaims/driver permission"
    cause = Cause("status.devices", "FieldValueForbidden", text)
    server.faults.fail(422, verb="apply", reason="Invalid", causes=[cause])
    with pytest.raises(
        Unavailable, match=rf"associated-node:patch .*resourceclaims/driver .*{DRIVER}.* bound to the node"
    ):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))


async def test_without_permission_for_the_subresource_the_error_names_it(
    server: ApiServer, writer: StatusWriter
) -> None:
    ref = make_claim(server, result("a"))
    server.faults.fail(403, verb="apply", reason="Forbidden", message="no")
    with pytest.raises(Unavailable, match="patch and update on resourceclaims/status"):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))


@pytest.mark.parametrize("status", [401, 500])
async def test_an_unavailable_server_is_told(server: ApiServer, writer: StatusWriter, status: int) -> None:
    ref = make_claim(server, result("a"))
    server.faults.fail(status, verb="apply")
    with pytest.raises(Unavailable):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))


async def test_what_the_server_will_never_take_is_refused_with_its_causes(
    server: ApiServer, writer: StatusWriter
) -> None:
    ref = make_claim(server, result("a"))
    cause = Cause("status.devices[0].data", "FieldValueTooLong", "too long")
    server.faults.fail(422, verb="apply", reason="Invalid", causes=[cause])
    with pytest.raises(Refused, match=r"ns/c was refused: status.devices\[0\].data: too long"):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))


async def test_a_server_that_drops_device_status_is_told_once_and_not_asked_again(
    server: ApiServer, writer: StatusWriter, versions: Versions, client: KubeClient
) -> None:
    ref = make_claim(server, result("a"))
    claim = server.get("resourceclaims", "c", "ns")
    server.update_status({**claim, "status": {"allocation": claim["status"]["allocation"]}})
    server.faults.off.add("DRAResourceClaimDeviceStatus")
    with pytest.raises(NotKept, match="DRAResourceClaimDeviceStatus"):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert "DRAResourceClaimDeviceStatus" in writer.warning
    before = len(server.requests)
    with pytest.raises(NotKept):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a", "False"),)))
    assert len(server.requests) == before


async def test_device_status_is_written_again_once_the_api_was_discovered_anew(
    server: ApiServer, writer: StatusWriter, versions: Versions, client: KubeClient
) -> None:
    server.serve_versions(("v1beta1",))
    ref = make_claim(server, result("a"))
    claim = server.get("resourceclaims", "c", "ns")
    server.update_status({**claim, "status": {"allocation": claim["status"]["allocation"]}})
    server.faults.off.add("DRAResourceClaimDeviceStatus")
    with pytest.raises(NotKept):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    server.faults.clear()
    server.serve_versions(("v1",))
    await versions.call(lambda api: client.get(f"{api.root}/resourceslices"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert (mine(server), writer.warning) == (["a"], "")


async def test_device_status_is_written_again_once_a_server_was_met_that_keeps_it(
    server: ApiServer, writer: StatusWriter, versions: Versions
) -> None:
    ref = make_claim(server, result("a"))
    server.faults.off.add("DRAResourceClaimDeviceStatus")
    claim = server.get("resourceclaims", "c", "ns")
    server.update_status({**claim, "status": {"allocation": claim["status"]["allocation"]}})
    with pytest.raises(NotKept):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    server.faults.clear()
    server.server_version = (1, 38)
    await versions.renew()
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert (mine(server), writer.warning) == (["a"], "")


async def test_an_apply_that_loses_to_other_writers_is_tried_again_later(
    server: ApiServer, writer: StatusWriter
) -> None:
    ref = make_claim(server, result("a"))
    server.faults.fail(409, verb="apply", reason="Conflict", message="the object has been modified")
    with pytest.raises(Unavailable, match=r"others write .*ns/c"):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert mine(server) == ["a"]


async def test_a_conflict_over_the_uid_of_a_replaced_claim_is_nobodys_concern(
    server: ApiServer, writer: StatusWriter
) -> None:
    old = make_claim(server, result("a"))
    server.delete("resourceclaims", "c", "ns")
    make_claim(server, result("a"))
    server.faults.fail(409, verb="apply", reason="Conflict", message="Precondition failed: UID in precondition")
    await writer.write(ClaimStatus(claim=old, devices=()))
    assert entries(server) == [OTHER]


async def test_a_version_that_is_not_served_any_more_costs_no_status(server: ApiServer, writer: StatusWriter) -> None:
    server.serve_versions(("v1beta1",))
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    server.serve_versions(("v1",))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a", "False"),)))
    assert entries(server)[1]["conditions"][0]["status"] == "False"


def test_times_of_many_claims_are_bounded() -> None:
    times = TransitionTimes()
    for number in range(5000):
        times.learn(f"u{number}", [])
    known = sum(times.knows(f"u{number}") for number in range(5000))
    assert known == 1024
    assert times.knows("u4999")
