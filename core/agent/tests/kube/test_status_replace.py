"""Claim status by read and replace, for claims and servers that no apply can write."""

from __future__ import annotations

import pytest

from dragoman.kube.client import KubeClient
from dragoman.kube.conditions import TransitionTimes
from dragoman.kube.status import StatusWriter
from dragoman.kube.status_exact import LooseClaims
from dragoman.kube.versions import Versions
from dragoman.model.errors import Unavailable
from dragoman.model.status import ClaimStatus
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

from .statusclaims import DRIVER, OTHER, SHARE, device, entries, make_claim, mine, result, sent, since


@pytest.fixture
def writer(client: KubeClient, versions: Versions, clock: VirtualClock) -> StatusWriter:
    return StatusWriter(client, versions, clock, TransitionTimes(), driver=DRIVER)


async def test_a_server_whose_apply_needs_share_ids_is_written_by_read_and_replace(
    server: ApiServer, writer: StatusWriter
) -> None:
    server.faults.needs_share_id = True
    ref = make_claim(server, result("a"), result("b"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"), device("b"))))
    await writer.write(ClaimStatus(claim=ref, devices=(device("b"),)))
    assert (entries(server)[0], mine(server)) == (OTHER, ["b"])
    assert sent(server).count("apply") == 1


async def test_read_and_replace_starts_anew_after_a_conflict(server: ApiServer, writer: StatusWriter) -> None:
    server.faults.needs_share_id = True
    ref = make_claim(server, result("a"))
    server.faults.fail(409, verb="update", reason="Conflict")
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert mine(server) == ["a"]


async def test_read_and_replace_does_not_write_a_claim_of_the_same_name(
    server: ApiServer, writer: StatusWriter
) -> None:
    server.faults.needs_share_id = True
    old = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=old, devices=(device("a"),)))
    server.delete("resourceclaims", "c", "ns")
    make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=old, devices=(device("a", "False"),)))
    assert mine(server) == []


async def test_read_and_replace_that_loses_to_other_writers_each_time_is_tried_again_later(
    server: ApiServer, writer: StatusWriter
) -> None:
    server.faults.needs_share_id = True
    ref = make_claim(server, result("a"))
    server.faults.fail(409, verb="update", reason="Conflict", count=5)
    with pytest.raises(Unavailable, match="ns/c was changed"):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert mine(server) == ["a"]


async def test_a_claim_whose_parameters_were_sent_with_blanks_is_written_beside_other_drivers(
    server: ApiServer, writer: StatusWriter
) -> None:
    server.faults.loose_parameters = True
    ref = make_claim(server, result("a"), result("b", SHARE))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"), device("b", share=SHARE))))
    found = entries(server)
    assert (found[0], mine(server)) == (OTHER, ["a", "b"])
    assert [(entry.get("shareID"), entry["data"]) for entry in found[1:]] == [
        (None, {"manager": "dummy"}),
        (SHARE, {"manager": "dummy"}),
    ]
    await writer.write(ClaimStatus(claim=ref, devices=(device("b", share=SHARE),)))
    await writer.write(ClaimStatus(claim=ref, devices=()))
    assert entries(server) == [OTHER]


async def test_a_claim_of_which_one_apply_was_refused_costs_no_second_one(
    server: ApiServer, writer: StatusWriter
) -> None:
    server.faults.loose_parameters = True
    ref = make_claim(server, result("a"))
    for ready in ("True", "False", "True"):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a", ready),)))
    assert sent(server) == ["get", "apply", *("get", "update") * 3]
    assert entries(server)[1]["conditions"][0]["status"] == "True"


async def test_another_claim_of_that_name_is_applied_again(server: ApiServer, writer: StatusWriter) -> None:
    server.faults.loose_parameters = True
    await writer.write(ClaimStatus(claim=make_claim(server, result("a")), devices=(device("a"),)))
    server.faults.loose_parameters = False
    server.delete("resourceclaims", "c", "ns")
    ref = make_claim(server, result("a"))
    before = len(sent(server))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert sent(server)[before:] == ["get", "apply"]


def test_claims_that_no_apply_can_write_are_forgotten_the_oldest_first_when_there_are_many() -> None:
    claims = LooseClaims()
    for number in range(5000):
        claims.add(f"u{number}")
    assert [f"u{number}" in claims for number in (3975, 3976, 4999)] == [False, True, True]


async def test_such_a_claim_keeps_the_time_of_a_condition(
    server: ApiServer, writer: StatusWriter, clock: VirtualClock
) -> None:
    server.faults.loose_parameters = True
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    first = since(server)
    await clock.advance(60)
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    assert since(server) == first


async def test_read_and_replace_of_a_claim_that_is_gone_is_nobodys_concern(
    server: ApiServer, writer: StatusWriter
) -> None:
    server.faults.needs_share_id = True
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    server.delete("resourceclaims", "c", "ns")
    await writer.write(ClaimStatus(claim=ref, devices=(device("a", "False"),)))
    assert server.list("resourceclaims") == []


async def test_why_a_read_before_a_replacement_is_refused_is_told_in_words(
    server: ApiServer, writer: StatusWriter
) -> None:
    server.faults.loose_parameters = True
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    server.faults.fail(403, verb="get", reason="Forbidden", message="not for you", count=2)
    with pytest.raises(Unavailable, match=r"not for you; .* get on resourceclaims"):
        await writer.write(ClaimStatus(claim=ref, devices=(device("a", "False"),)))


async def test_read_and_replace_finds_a_version_that_is_served(server: ApiServer, writer: StatusWriter) -> None:
    server.faults.needs_share_id = True
    server.serve_versions(("v1beta1",))
    ref = make_claim(server, result("a"))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a"),)))
    server.serve_versions(("v1",))
    await writer.write(ClaimStatus(claim=ref, devices=(device("a", "False"),)))
    assert entries(server)[1]["conditions"][0]["status"] == "False"
