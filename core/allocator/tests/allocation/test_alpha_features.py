"""Derived attributes, compatibility groups and optional node operations (api-semantics 7.15)."""

from __future__ import annotations

import pytest

from dragoman_allocator.errors import AllocationFailed
from dragoman_allocator.features import Features

from .clusters import (
    N1,
    Cluster,
    Json,
    cel,
    claim,
    consumes,
    counter_set,
    device,
    distinct,
    every,
    gates,
    has,
    held,
    match,
    req,
    shareable,
    slice_,
)

DERIVED = gates(DRADerivedAttributes=True)
T = 'device.attributes["driver-a"].t'
TOPOLOGY = [device(name, attrs={"t": f"numa-{node}"}) for name, node in (("d1", 0), ("d2", 1), ("d3", 1))]
MATCH = [match("x/numa")]


def derives(name: str, expression: str) -> Json:
    """The member of a request that derives one attribute."""
    return {"derivedAttributes": [{"name": name, "expression": expression}]}


def topology(*devices: Json, features: Features = DERIVED) -> Cluster:
    """A cluster of the topology devices."""
    return Cluster([slice_("s1", *(devices or TOPOLOGY))], features=features)


def test_two_requests_derive_the_same_in_different_ways() -> None:
    asked = claim(
        req("r0", **derives("x/numa", f'{T}.split("-")[1]')),
        req("r1", selectors=has("t", '== "numa-1"'), **derives("x/numa", f"{T}.substring(5)")),
        constraints=MATCH,
    )
    assert topology().found(asked) == "r0 d2, r1 d3"


MISSING = derives("x/numa", 'device.attributes["driver-a"].nope')


def test_a_derived_attribute_that_fails_is_fatal_where_a_constraint_asks_for_it() -> None:
    with pytest.raises(AllocationFailed) as raised:
        topology().outcome(claim(req("r0", **MISSING), constraints=MATCH))
    text = "evaluate derived attribute x/numa on device driver-a/p1/d1 failed: no such key: nope"
    assert str(raised.value) == text


def test_a_derived_attribute_that_nobody_asks_for_is_not_evaluated() -> None:
    assert topology().found(claim(req("r0", **MISSING))) == "r0 d1"


FAILS_ON_D1 = derives("x/numa", T)
GOOD = device("d2", capacity={"c": "1"}, attrs={"t": "numa-1"})


@pytest.mark.parametrize(
    ("bad", "asks"),
    [
        (device("d1"), {"capacity": {"c": "1"}}),
        (device("d1", taints=[{"key": "k", "effect": "NoSchedule"}]), {}),
    ],
    ids=["capacity", "taint"],
)
def test_capacity_and_taints_come_before_derived_attributes(bad: Json, asks: Json) -> None:
    asked = claim(req("r0", **FAILS_ON_D1, **asks), constraints=MATCH)
    assert topology(bad, GOOD).found(asked) == "r0 d2"


def test_a_derived_attribute_must_have_a_type_that_attributes_have() -> None:
    with pytest.raises(AllocationFailed, match=r"^compile derived attribute x/numa failed: .*not double"):
        topology().outcome(claim(req("r0", **derives("x/numa", "1.5")), constraints=MATCH))
    with pytest.raises(AllocationFailed, match=r"^evaluate derived attribute x/numa on device driver-a/p1/d1 failed: "):
        topology().outcome(claim(req("r0", **derives("x/numa", "dyn(1.5)")), constraints=MATCH))


FOUND: dict[str, tuple[Json, str | None]] = {
    "it shadows the published one": (
        claim(req("r0", 3, **derives("driver-a/t", '"same"')), constraints=[match("driver-a/t")]),
        "r0 d1, r0 d2, r0 d3",
    ),
    "for its own request only": (
        claim(req("r0", **derives("driver-a/t", '"numa-1"')), req("r1"), constraints=[match("driver-a/t")]),
        "r0 d1, r1 d2",
    ),
    "selectors do not see it": (
        claim(req("r0", selectors=cel('"n" in device.attributes["x"]'), **derives("x/n", "1"))),
        None,
    ),
    "distinct compares it": (
        claim(req("r0", 2, **derives("x/numa", T)), constraints=[distinct("x/numa")]),
        "r0 d1, r0 d2",
    ),
    "a list is like a list that was published": (
        claim(req("r0", 2, **derives("x/numa", f'[dyn("a"), {T}]')), constraints=MATCH),
        None,
    ),
    "the first list is taken": (claim(req("r0", **derives("x/numa", f'[dyn("a"), {T}]')), constraints=MATCH), "r0 d1"),
}


@pytest.mark.parametrize(("asked", "found"), FOUND.values(), ids=list(FOUND))
def test_derived_attributes(asked: Json, found: str | None) -> None:
    assert topology().found(asked) == found


BOTH = gates(DRADerivedAttributes=True, DRAListTypeAttributes=True)


def test_derived_lists_match_by_a_common_element() -> None:
    asked = claim(req("r0", 2, **derives("x/numa", f'[dyn("a"), {T}]')), constraints=MATCH)
    assert topology(features=BOTH).found(asked) == "r0 d1, r0 d2"


def test_an_empty_derived_list_is_of_no_type() -> None:
    assert topology(features=BOTH).found(claim(req("r0", **derives("x/numa", "[]")), constraints=MATCH)) is None


GROUPS = gates(DRADeviceCompatibilityGroups=True)


def grouped(name: str, *groups: str, counters: str = "set") -> Json:
    """A device with compatibility groups."""
    return device(name, consumesCounters=[consumes(counters, groups or None, m="1")])


SETS = slice_("s2", count=2, sharedCounters=[counter_set("set", m="9"), counter_set("other", m="9")])
GROUPED = [
    slice_(
        "s1",
        grouped("d1", "a"),
        grouped("d2", "b"),
        grouped("d3", "a", "b"),
        grouped("d4"),
        grouped("d5", "z", counters="other"),
        count=2,
    ),
    SETS,
]

GROUP_FOUND: dict[str, tuple[list[Json], Json, str | None]] = {
    "two that share a group": ([], claim(req("r0", 2)), "r0 d1, r0 d3"),
    "sets are apart": ([], claim(req("r0", 3)), "r0 d1, r0 d3, r0 d5"),
    "one allocated": ([held("p1/d2")], claim(req("r0")), "r0 d3"),
    "one without groups allocated": ([held("p1/d4")], claim(req("r0")), "r0 d5"),
    "the intersection counts": ([held("p1/d3")], claim(req("r0", 2), req("r1")), None),
}


@pytest.mark.parametrize(("allocated", "asked", "found"), GROUP_FOUND.values(), ids=list(GROUP_FOUND))
def test_compatibility_groups(allocated: list[Json], asked: Json, found: str | None) -> None:
    assert Cluster(GROUPED, allocated, features=GROUPS).found(asked) == found


def test_a_pool_with_groups_is_incomplete_without_the_gate() -> None:
    beside = [*GROUPED, slice_("s3", "e1", pool="p2")]
    assert Cluster(GROUPED).found(claim(req("r0"))) is None
    assert Cluster(beside).found(claim(req("r0"))) == "r0 e1"
    with pytest.raises(AllocationFailed, match=r"driver-a/p1 is currently being updated$"):
        Cluster(GROUPED).outcome(claim(every("r0")))


def test_one_slice_with_groups_is_enough_without_the_gate() -> None:
    slices = [
        slice_("s1", "d1", count=3),
        slice_("s3", grouped("d2", "a"), count=3),
        slice_("s2", count=3, sharedCounters=[counter_set("set", m="9")]),
    ]
    assert Cluster(slices).found(claim(req("r0"))) is None


def test_a_further_share_is_not_asked_for_its_groups() -> None:
    devices = [shareable("d1", {"c": "2"}, consumesCounters=[consumes("set", ["a"], m="1")]), grouped("d2", "b")]
    cluster = Cluster([slice_("s1", *devices, count=2), SETS], features=GROUPS)
    asked = claim(req("r0", capacity={"c": "1"}), req("r1", capacity={"c": "1"}))
    assert cluster.found(asked) == "r0 d1, r1 d1"


SKIPPING = [slice_("s1", "d1", skipNodeOperations=["*"]), slice_("s2", "d2", pool="p2")]
DECLARED = {**N1, "status": {"declaredFeatures": ["DRAOptionalNodeOperations"]}}


def test_a_node_that_cannot_skip_operations_is_not_asked_to() -> None:
    assert Cluster(SKIPPING, features=gates(DRAOptionalNodeOperations=True)).found(claim(req("r0"))) == "r0 d2"


def test_operations_to_skip_are_copied_for_a_node_that_can() -> None:
    cluster = Cluster(SKIPPING, features=gates(DRAOptionalNodeOperations=True))
    results = cluster.outcome(claim(req("r0")), node=DECLARED).results
    assert results is not None
    assert [(r.device, r.skip_node_operations) for r in results[0].devices.results or ()] == [("d1", ["*"])]


def test_operations_to_skip_without_the_gate_depend_on_the_copy() -> None:
    results = Cluster(SKIPPING).outcome(claim(req("r0")), node=DECLARED).results
    assert results is not None
    assert [(r.device, r.skip_node_operations) for r in results[0].devices.results or ()] == [("d1", None)]
    assert Cluster(SKIPPING, features=DERIVED).found(claim(req("r0")), node=DECLARED) == "r0 d2"
