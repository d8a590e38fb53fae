"""Pools from which nothing can be allocated, and why; errors that end an attempt."""

from __future__ import annotations

import pytest

from dragoman_allocator.features import Features
from dragoman_allocator.reasons import Fault, summary

from ..allocation.clusters import (  # noqa: TID252 - tests have no package of their own
    Cluster,
    Json,
    claim,
    consumes,
    counter_set,
    device,
    every,
    held,
    req,
    slice_,
)
from .explained import explained


@pytest.mark.parametrize(
    ("slices", "fault", "text"),
    [
        (
            [slice_("s1", "d1", count=3), slice_("s2", "d2", count=3)],
            Fault.INCOMPLETE,
            "pool driver-a/p1 is incomplete: there are 2 of 3 slices of generation 1",
        ),
        (
            [slice_("s1", "d1", count=2), slice_("s2", "d1", count=2)],
            Fault.INVALID,
            "pool driver-a/p1 is invalid: duplicate device name d1",
        ),
        (
            [slice_("s1", "d1", gen=1, count=2), slice_("s2", "d1", gen=2, node="n2")],
            Fault.OBSOLETE,
            "pool driver-a/p1 is obsolete here: this node's slices have generation 1, the pool is at 2",
        ),
        (
            [
                slice_("s0", count=2, sharedCounters=[counter_set("mem", total="4")]),
                slice_("s1", device("d1", consumesCounters=[consumes("mem", ["g"], total="1")]), count=2),
            ],
            Fault.INCOMPLETE,
            "pool driver-a/p1 is incomplete: there are 1 of 2 slices of generation 1; "
            "1 more use compatibility groups, which are off in this cluster",
        ),
    ],
    ids=["incomplete", "invalid", "obsolete", "groups"],
)
def test_a_pool_that_gives_nothing_is_named_with_the_reason(slices: list[Json], fault: Fault, text: str) -> None:
    reasons = explained(Cluster(slices), claim(req("r")))
    assert [(each.fault, each.text) for each in reasons.pools] == [(fault, text)]
    assert text in summary(reasons)


def test_pools_of_other_nodes_are_not_told() -> None:
    assert explained(Cluster([slice_("s1", "d1", node="n2", count=3)]), claim(req("r"))).pools == []


def test_counter_slices_of_other_nodes_count_as_the_older_rules_have_it() -> None:
    elsewhere = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z9"]}]}
    scope: Json = {"nodeSelector": {"nodeSelectorTerms": [elsewhere]}}
    counters = slice_("s0", node=None, count=2, sharedCounters=[counter_set("mem", total="4")], **scope)
    cluster = Cluster([counters], features=Features.of_release("1.36"))
    (fault,) = explained(cluster, claim(req("r"))).pools
    assert fault.text == "pool driver-a/p1 is incomplete: there are 1 of 2 slices of generation 1"


def test_an_error_that_ends_the_attempt_is_the_reason_and_requests_are_told_nevertheless() -> None:
    cluster = Cluster([slice_("s", "d1")], [held("p1/d1")])
    reasons = explained(cluster, claim(req("r"), req("missing", cls="nope")))
    assert reasons.everywhere
    assert summary(reasons) == reasons.error
    good, bad = reasons.requests
    assert (good.error, good.missing) == (None, 1)
    assert bad.error is not None
    assert "could not retrieve device class nope" in bad.error


def test_a_request_for_all_names_the_incomplete_pool_that_ends_the_attempt() -> None:
    reasons = explained(Cluster([slice_("s", "d1", count=2)]), claim(every("r")))
    assert reasons.error == (
        "claim ns/c, request r: asks for all devices, but resource pool driver-a/p1 is currently being updated"
    )
    assert [each.fault for each in reasons.pools] == [Fault.INCOMPLETE]


def test_what_fits_has_results_and_nothing_else() -> None:
    reasons = explained(Cluster([slice_("s", "d1")]), claim(req("r")))
    assert reasons.results is not None
    assert (reasons.distance, list(reasons.requests), reasons.conflict) == (0, [], None)


def test_a_node_whose_devices_fail_fewer_checks_is_nearer() -> None:
    taint = {"key": "hot", "effect": "NoSchedule"}
    near = explained(Cluster([slice_("s", device("d1", taints=[taint]))]), claim(req("r")))
    far = explained(Cluster([slice_("s", device("d1", taints=[taint]))], [held("p1/d1")]), claim(req("r")))
    empty = explained(Cluster([]), claim(req("r")))
    assert near.distance < far.distance < empty.distance


def test_devices_of_other_classes_are_no_near_misses() -> None:
    taint = {"key": "hot", "effect": "NoSchedule"}
    foreign = slice_("s", "a1", driver="driver-b")
    taken = Cluster([foreign, slice_("t", device("d1", taints=[taint]))], [held("p1/d1")])
    reasons = explained(taken, claim(req("r")))
    assert [each.device[2] for each in reasons.requests[0].devices] == ["d1", "a1"]
    assert reasons.distance < explained(Cluster([foreign]), claim(req("r"))).distance
