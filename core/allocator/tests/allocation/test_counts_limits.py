"""Counts, requests for all devices, the limit of results, and errors of selectors (api-semantics 7.3)."""

from __future__ import annotations

import pytest

from dragoman_allocator.errors import AllocationFailed, FailedOnNode
from dragoman_allocator.features import Features

from .clusters import Cluster, Json, cel, claim, device, every, first, held, match, req, slice_, sub

TWO = [slice_("s1", "d1", "d2")]
THIRTY_THREE = [slice_("s1", *(f"d{i:02}" for i in range(33)))]

FOUND: dict[str, tuple[list[Json], list[Json], Json, str | None]] = {
    "the limit itself is no error": ([], [], claim(req("r0", 32)), None),
    "all of nothing is nothing": ([], [], claim(every("r0")), None),
    "all of what does not match is nothing": (TWO, [], claim(every("r0", cls="b")), None),
    "all fails while one is in use": (TWO, [held("p1/d1")], claim(every("r0")), None),
    "the second choice takes what is free": (
        TWO,
        [held("p1/d1")],
        claim(first("r0", sub("s0", allocationMode="All"), sub("s1"))),
        "r0/s1 d2",
    ),
    "the second choice leaves the device of the request before": (
        TWO,
        [],
        claim(req("r0"), first("r1", sub("s0", allocationMode="All"), sub("s1"))),
        "r0 d1, r1/s1 d2",
    ),
    "all crosses pools in their order": (
        [slice_("s2", "d2", pool="p2"), slice_("s1", "d1")],
        [],
        claim(every("r0")),
        "r0 d1, r0 d2",
    ),
    "only the smallest subrequest counts": (
        [slice_("s1", "d1")],
        [],
        claim(first("r0", sub("s0", 500, cls="b"), sub("s1"))),
        "r0/s1 d1",
    ),
    "a selector that does not compile goes unnoticed without devices": (
        [],
        [],
        claim(req("r0", selectors=cel("!!"))),
        None,
    ),
    "a selector is not looked at on a device in use": (
        [slice_("s1", "d1")],
        [held("p1/d1")],
        claim(req("r0", selectors=cel('device.attributes["driver-a"].x'))),
        None,
    ),
    "a claim without requests gets an allocation": (TWO, [], claim(), ""),
}


@pytest.mark.parametrize(("slices", "allocated", "asked", "found"), FOUND.values(), ids=list(FOUND))
def test_what_is_found(slices: list[Json], allocated: list[Json], asked: Json, found: str | None) -> None:
    assert Cluster(slices, allocated).found(asked) == found


KEY = 'device.attributes["driver-a"].x'
HINT = (
    " consider using CEL optional chaining (.? followed by orValue())"
    " or guarding the check with has() for optional fields"
)
NUMA = [slice_("s1", device("d1", attrs={"numa": 1}), device("d2", attrs={"numa": 2}))]

FATAL: dict[str, tuple[list[Json], Json, str]] = {
    "too many devices": (
        [],
        claim(req("r0", 500)),
        "claim ns/c, request r0: adding 500 devices exceeds the claim limit of 32, with 0 already accounted for",
    ),
    "too many devices together": (
        THIRTY_THREE,
        claim(req("r0", 32), req("r1")),
        "claim ns/c, request r1: adding 1 devices exceeds the claim limit of 32, with 32 already accounted for",
    ),
    "all of too many": (
        THIRTY_THREE,
        claim(every("r0")),
        "claim ns/c, request r0: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for",
    ),
    "a constraint against all": (
        NUMA,
        claim(every("r0"), constraints=[match("driver-a/numa")]),
        "claim ns/c, request r0: cannot add device driver-a/p1/d2 because a claim constraint would not be satisfied",
    ),
    "a selector that fails": (
        TWO,
        claim(req("r0", selectors=cel(KEY))),
        f"claim ns/c: selector #0 on device driver-a/p1/d1: CEL runtime error: no such key: x.{HINT}",
    ),
    "a missing class": (
        TWO,
        claim(req("r0", cls="none")),
        'claim ns/c, request r0: could not retrieve device class none: deviceclass.resource.k8s.io "none" not found',
    ),
    "no class": (
        TWO,
        claim(req("r0", cls="")),
        "claim ns/c, request r0: missing device class name (unsupported request type?)",
    ),
    "an unknown mode": (
        TWO,
        claim(req("r0", allocationMode="Some")),
        "claim ns/c, request r0: unsupported count mode Some",
    ),
    "a selector of an unknown kind": (
        TWO,
        claim(req("r0", selectors=[*cel("true"), {}])),
        "claim ns/c, request r0, selector #1: CEL expression empty (unsupported selector type?)",
    ),
    "an empty constraint": (
        TWO,
        claim(req("r0"), constraints=[{}]),
        "claim ns/c, constraint #0: empty constraint (unsupported constraint type?)",
    ),
}


@pytest.mark.parametrize(("slices", "asked", "text"), FATAL.values(), ids=list(FATAL))
def test_what_ends_the_whole_attempt(slices: list[Json], asked: Json, text: str) -> None:
    with pytest.raises(AllocationFailed) as raised:
        Cluster(slices).outcome(asked)
    assert str(raised.value) == text
    assert not isinstance(raised.value, FailedOnNode)


def test_a_selector_that_does_not_compile_is_fatal_once_a_device_is_looked_at() -> None:
    with pytest.raises(AllocationFailed, match=r"^claim ns/c: selector #0: CEL compile error: "):
        Cluster(TWO).outcome(claim(req("r0", selectors=cel("!!"))))


def test_an_error_of_a_class_selector_names_the_class() -> None:
    classes = [{"metadata": {"name": "a"}, "spec": {"selectors": cel("true", KEY)}}]
    with pytest.raises(AllocationFailed, match=r"^class a: selector #1 on device driver-a/p1/d1: CEL runtime error: "):
        Cluster(TWO, classes=classes).outcome(claim(req("r0")))


OFF: dict[str, tuple[str, Json, str]] = {
    "prioritized list": (
        "DRAPrioritizedList",
        claim(first("r0", sub("s0"))),
        "claim ns/c, request r0: has subrequests, but the DRAPrioritizedList feature is disabled",
    ),
    "capacity": (
        "DRAConsumableCapacity",
        claim(req("r0", capacity={"c": "1"})),
        "claim ns/c, request r0: has capacity requests, but the DRAConsumableCapacity feature is disabled",
    ),
    "capacity of a subrequest": (
        "DRAConsumableCapacity",
        claim(first("r0", sub("s0", capacity={"c": "1"}))),
        "claim ns/c, subrequest s0: has capacity requests, but the DRAConsumableCapacity feature is disabled",
    ),
    "admin access, even false": (
        "DRAAdminAccess",
        claim(req("r0", adminAccess=False)),
        "claim ns/c, request r0: admin access is requested, but the feature is disabled",
    ),
    "derived attributes": (
        "DRADerivedAttributes",
        claim(req("r0", derivedAttributes=[{"name": "x/y", "expression": "1"}])),
        "claim ns/c, request r0: cannot handle request with derived attributes, the feature is disabled",
    ),
}


@pytest.mark.parametrize(("gate", "asked", "text"), OFF.values(), ids=list(OFF))
def test_a_request_that_needs_a_gate_is_refused_without_it(gate: str, asked: Json, text: str) -> None:
    with pytest.raises(AllocationFailed) as raised:
        Cluster(TWO, features=Features.of({gate: False})).outcome(asked)
    assert str(raised.value) == text
