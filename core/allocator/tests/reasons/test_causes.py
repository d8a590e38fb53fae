"""What is named as the cause is one: sharing, the limit of a claim, values that requests derive, errors never met."""

from __future__ import annotations

import pytest

from dragoman_allocator.allocation import Check
from dragoman_allocator.features import Features

from ..allocation.clusters import (  # noqa: TID252 - tests have no package of their own
    Cluster,
    Json,
    claim,
    consumes,
    counter_set,
    device,
    every,
    first,
    has,
    held,
    match,
    req,
    shareable,
    shared,
    slice_,
    sub,
)
from .explained import explained, texts

TAINT: Json = {"key": "hot", "effect": "NoSchedule"}
ALL = Features.of("all")


def cause(cluster: Cluster, *claims: Json) -> str:
    conflict = explained(cluster, *claims).conflict
    assert conflict is not None
    return conflict.text


def many(number: int) -> Cluster:
    return Cluster([slice_("s", *(f"d{index}" for index in range(number)))])


def derives(request: Json, expression: str) -> Json:
    request["exactly"]["derivedAttributes"] = [{"name": "x/n", "expression": expression}]
    return request


def test_a_request_for_all_devices_of_which_none_matches_says_so() -> None:
    text = "request r wants all devices of class b, none of 2 matches: 2 class selector"
    assert cause(many(2), claim(every("r", cls="b"))) == text


def test_a_request_for_all_counts_as_causes_only_devices_that_it_wants() -> None:
    cluster = Cluster([slice_("s", device("d1", attrs={"x": 1}), device("d2", attrs={"x": 2}))], [held("p1/d2")])
    asked = claim(every("r", selectors=has("x", "== 2")))
    assert cause(cluster, asked) == "request r wants all devices of class a, 1 of them cannot be had: 1 in use"


def test_requests_that_share_a_device_want_capacity_and_not_devices() -> None:
    cluster = Cluster([slice_("s", shareable("d1", {"bw": "10"}))])
    asked = claim(req("a", capacity={"bw": "6"}), req("b", capacity={"bw": "6"}))
    assert cause(cluster, asked) == (
        "requests a and b cannot be had together, though devices fit one by one: 1 capacity used"
    )


def test_administrators_of_two_claims_do_not_want_two_devices() -> None:
    partition = device("d1", consumesCounters=[consumes("mem", total="3")])
    cluster = Cluster(
        [slice_("s0", count=2, sharedCounters=[counter_set("mem", total="4")]), slice_("s1", partition, count=2)]
    )
    asked = [claim(req("r", adminAccess=True), name=name) for name in ("c1", "c2")]
    assert cause(cluster, *asked).endswith("cannot be had together, though devices fit one by one: 1 counters used")


@pytest.mark.parametrize("wanted", [{"count": 40}, {"allocationMode": "All"}], ids=["count", "all"])
def test_a_request_for_more_devices_than_a_claim_can_hold_names_the_limit(wanted: Json) -> None:
    asked = claim(first("r", {"name": "x", "deviceClassName": "a", **wanted}, sub("y", cls="b")))
    assert cause(many(40), asked) == "request r takes at least 40 devices, more than the 32 that a claim can hold"


def test_requests_for_more_devices_together_than_a_claim_can_hold_name_the_limit() -> None:
    asked = claim(first("r", sub("x", 20), sub("y", cls="b")), req("q", 20))
    assert cause(many(64), asked) == "requests r and q take at least 40 devices, more than the 32 that a claim can hold"


def test_one_request_whose_devices_exclude_each_other_is_not_said_to_conflict_with_itself() -> None:
    devices = [device(name, consumesCounters=[consumes("mem", total="3")]) for name in ("d1", "d2")]
    cluster = Cluster(
        [slice_("s0", count=2, sharedCounters=[counter_set("mem", total="4")]), slice_("s1", *devices, count=2)]
    )
    assert cause(cluster, claim(req("r", 2))) == (
        "the devices of request r cannot be had together, though they fit one by one: 1 counters used"
    )


@pytest.mark.parametrize(
    ("cluster", "check"),
    [
        (Cluster([slice_("s", device("d1", taints=[TAINT]))], features=ALL), Check.TAINT),
        (
            Cluster([slice_("s", shareable("d1", {"bw": "1"}))], [shared("p1/d1", {"bw": "1"})], features=ALL),
            Check.CAPACITY_USED,
        ),
        (Cluster([slice_("s", "d1", skipNodeOperations=["*"])], features=ALL), Check.NODE_OPERATIONS),
    ],
    ids=lambda value: value.name if isinstance(value, Check) else "",
)
def test_a_derived_attribute_that_fails_on_a_device_out_of_reach_is_no_error(cluster: Cluster, check: Check) -> None:
    asked = derives(req("r"), 'device.attributes["driver-a"].nope')
    (request,) = explained(cluster, claim(asked, constraints=[match("x/n")])).requests
    assert (request.error, list(request.tally)) == (None, [check])


def test_a_derived_attribute_that_fails_on_a_free_device_is_the_error() -> None:
    asked = derives(req("r"), 'device.attributes["driver-a"].nope')
    (request,) = explained(
        Cluster([slice_("s", "d1")], features=ALL), claim(asked, constraints=[match("x/n")])
    ).requests
    assert request.error is not None


def test_a_selector_that_fails_on_a_held_device_ends_only_requests_for_all() -> None:
    cluster = Cluster([slice_("s", "d1")], [held("p1/d1")])
    one, everything = (
        explained(cluster, claim(kind("r", selectors=has("nope", "== 1")))).requests[0] for kind in (req, every)
    )
    assert (one.error, texts(one)) == (None, {"d1": ["held by claim ns/held"]})
    assert everything.error is not None


def test_values_that_a_request_derives_are_those_that_a_constraint_compares() -> None:
    cluster = Cluster(
        [slice_("s", device("d1", attrs={"t": "a-0"}), device("d2", attrs={"t": "a-1", "x/n": "1"}))], features=ALL
    )
    asked = derives(req("r", 2), 'device.attributes["driver-a"].t.split("-")[1]')
    assert cause(cluster, claim(asked, constraints=[match("x/n")])) == (
        "no choice of devices for request r satisfies constraint #0, matchAttribute x/n (r has 0, 1)"
    )


@pytest.mark.parametrize("allocated", [[], [shared("p1/d1", {"bw": "4"})]], ids=["free", "shared"])
def test_capacity_that_a_device_never_has_is_not_called_used(allocated: list[Json]) -> None:
    cluster = Cluster([slice_("s", shareable("d1", {"bw": "10"}))], allocated)
    (request,) = explained(cluster, claim(req("r", capacity={"bw": "20"}))).requests
    assert texts(request) == {"d1": ["capacity bw: 20 asked for, the device has 10"]}
    assert request.tally == {Check.CAPACITY_UNFIT: 1}
    assert request.devices[0].findings[0].data == {"capacity": "bw", "asked": "20", "total": "10"}


def test_counters_that_a_pool_never_has_are_nobodys_fault() -> None:
    devices = [
        device(name, consumesCounters=[consumes("mem", total=need)]) for name, need in (("d1", "9"), ("d2", "3"))
    ]
    counters = slice_("s0", count=2, sharedCounters=[counter_set("mem", total="4")])
    cluster = Cluster([counters, slice_("s1", *devices, count=2)], [held("p1/d2")])
    (request,) = explained(cluster, claim(req("r"))).requests
    assert texts(request)["d1"] == ["counter total of mem: 9 needed, the pool has 4"]
    (finding,) = request.devices[0].findings
    assert "holders" not in finding.data


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (("1", 1), "1 (int), 1 (string)"),
        ((True, "x"), "true, x"),
        ((["a"], ["a"]), "a list"),
        (("v1.0.0", {"string": "1.0.0"}), "1.0.0 (string), 1.0.0 (version)"),
    ],
    ids=["kinds", "bool", "list", "version"],
)
def test_values_that_look_alike_but_do_not_match_are_told_apart(values: tuple[object, object], shown: str) -> None:
    devices = [device(name, attrs={"x": value}) for name, value in zip(("d1", "d2"), values, strict=True)]
    asked = claim(req("r", 2), constraints=[match("driver-a/x")])
    assert cause(Cluster([slice_("s", *devices)]), asked) == (
        f"no choice of devices for request r satisfies constraint #0, matchAttribute driver-a/x (r has {shown})"
    )


def test_an_attribute_that_two_constraints_compare_is_missed_once() -> None:
    asked = claim(req("r"), constraints=[match("driver-a/x"), match("driver-a/x", "r")])
    (request,) = explained(Cluster([slice_("s", "d1")]), asked).requests
    assert texts(request) == {"d1": ["lacks attribute driver-a/x, which a constraint compares"]}


def test_a_constraint_that_ends_the_attempt_has_its_own_number_for_every_request() -> None:
    asked = claim(req("a"), req("b"), constraints=[match("driver-a/x", "a"), {"requests": ["b"]}])
    reasons = explained(Cluster([slice_("s", device("d1", attrs={"x": 1}))]), asked)
    assert reasons.error is not None
    assert "constraint #1" in reasons.error
    assert {each.error for each in reasons.requests} == {reasons.error}
