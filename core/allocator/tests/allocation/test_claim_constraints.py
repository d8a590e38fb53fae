"""matchAttribute and distinctAttribute (api-semantics 7.4)."""

from __future__ import annotations

import pytest

from dragoman_allocator.errors import AllocationFailed

from .clusters import Cluster, Json, claim, device, distinct, first, gates, has, match, mem, req, shareable, slice_, sub

LISTS = gates(DRAListTypeAttributes=True)


def cluster(*devices: Json, lists: bool = False) -> Cluster:
    """One slice of devices."""
    return Cluster([slice_("s1", *devices)], features=LISTS if lists else gates())


def with_values(**values: object) -> list[Json]:
    """Devices that have a value in attribute ``x``."""
    return [device(name, attrs={"x": value}) for name, value in values.items()]


R0, R1 = req("r0"), req("r1")
VERSIONS = [
    device("d1", attrs={"version": "v1.0.0", "string": "a"}),
    device("d2", attrs={"version": "v2.0.0", "string": "b"}),
    device("d3", attrs={"version": "v3.0.0", "string": "b"}),
]
SIZES = [
    device("d1", capacity={"mem": "8Gi"}, attrs={"version": "v1.0.0"}),
    device("d2", capacity={"mem": "2Gi"}, attrs={"version": "v2.0.0"}),
    device("d3", capacity={"mem": "1Gi"}, attrs={"version": "v1.0.0"}),
]
BIG = req("r0", selectors=mem("8Gi"))
EITHER = first("r1", sub("s0", selectors=mem("2Gi")), sub("s1", selectors=mem("1Gi")))
MATCH_X = [match("driver-a/x")]
DISTINCT_X = [distinct("driver-a/x")]

SCALARS: dict[str, tuple[list[Json], Json, str | None]] = {
    "a constraint on one request leaves the other alone": (
        VERSIONS[:2],
        claim(R0, R1, constraints=[match("driver-a/version", "r0")]),
        "r0 d1, r1 d2",
    ),
    "two constraints of different reach": (
        VERSIONS,
        claim(R0, R1, constraints=[match("driver-a/version", "r0"), match("driver-a/string")]),
        "r0 d2, r1 d3",
    ),
    "an attribute that nobody has": (VERSIONS, claim(R0, constraints=[match("driver-a/none")]), None),
    "an attribute of another driver": (VERSIONS, claim(R0, constraints=[match("driver-b/version")]), None),
    "values of different types": (with_values(d1=True, d2=1), claim(req("r0", 2), constraints=MATCH_X), None),
    "a constraint on a request holds for its subrequests": (
        SIZES,
        claim(BIG, EITHER, constraints=[match("driver-a/version", "r0", "r1")]),
        "r0 d1, r1/s1 d3",
    ),
    "a constraint on one subrequest leaves the other alone": (
        SIZES[:2],
        claim(BIG, EITHER, constraints=[match("driver-a/version", "r0", "r1/s0")]),
        "r0 d1, r1/s1 d2",
    ),
    "lists never match": (with_values(d1=["a"], d2=["a"]), claim(req("r0", 2), constraints=MATCH_X), None),
    "lists are never distinct": (with_values(d1=["a"], d2=["b"]), claim(req("r0", 2), constraints=DISTINCT_X), None),
    "one list matches itself": (with_values(d1=["a"]), claim(R0, constraints=MATCH_X), "r0 d1"),
    "one list is distinct": (with_values(d1=["a"]), claim(R0, constraints=DISTINCT_X), "r0 d1"),
    "a shared device is not distinct from itself": (
        [shareable("d1", attrs={"x": "a"})],
        claim(R0, R1, constraints=DISTINCT_X),
        None,
    ),
    "all devices of one request are compared": (
        with_values(d1=1, d2=2, d3=1),
        claim(req("r0", 3), constraints=DISTINCT_X),
        None,
    ),
    "the full spelling comes first": (
        [device("d1", attrs={"driver-a/x": "q", "x": "z"}), device("d2", attrs={"x": "q"})],
        claim(req("r0", 2), constraints=MATCH_X),
        "r0 d1, r0 d2",
    ),
    "different types are distinct": (
        with_values(d1=1, d2="1"),
        claim(req("r0", 2), constraints=DISTINCT_X),
        "r0 d1, r0 d2",
    ),
    "only the match of a constraint with both members counts": (
        [device(name, attrs={"a": 1, "b": 1}) for name in ("d1", "d2")],
        claim(req("r0", 2), constraints=[{"matchAttribute": "driver-a/a", "distinctAttribute": "driver-a/b"}]),
        "r0 d1, r0 d2",
    ),
}


@pytest.mark.parametrize(("devices", "asked", "found"), SCALARS.values(), ids=list(SCALARS))
def test_constraints_on_single_values(devices: list[Json], asked: Json, found: str | None) -> None:
    assert cluster(*devices).found(asked) == found


SETS: dict[str, tuple[list[Json], Json, str | None]] = {
    "lists with a common element match": (
        with_values(d1=["1", "2", "3"], d2=["2", "3", "4"]),
        claim(req("r0", 2), constraints=MATCH_X),
        "r0 d1, r0 d2",
    ),
    "pairwise overlap is not enough": (
        with_values(d1=["1", "2"], d2=["2", "3"], d3=["1", "3"]),
        claim(req("r0", 3), constraints=MATCH_X),
        None,
    ),
    "a single value is a list of one": (
        with_values(d1="2", d2=["2", "3"]),
        claim(req("r0", 2), constraints=MATCH_X),
        "r0 d1, r0 d2",
    ),
    "two disjoint lists are distinct": (
        with_values(d1=["a", "b"], d2=["c"], d3=["b", "d"]),
        claim(req("r0", 2), constraints=DISTINCT_X),
        "r0 d1, r0 d2",
    ),
    "three lists of which two overlap are not": (
        with_values(d1=["a", "b"], d2=["c"], d3=["b", "d"]),
        claim(req("r0", 3), constraints=DISTINCT_X),
        None,
    ),
    "what is common is restored when the search goes back": (
        with_values(d1=["a", "b"], d2=["b"], d3=["a"], d4=["a"]),
        claim(req("r0", 3), constraints=MATCH_X),
        "r0 d1, r0 d3, r0 d4",
    ),
}


@pytest.mark.parametrize(("devices", "asked", "found"), SETS.values(), ids=list(SETS))
def test_constraints_on_lists(devices: list[Json], asked: Json, found: str | None) -> None:
    assert cluster(*devices, lists=True).found(asked) == found


def test_an_attribute_without_a_value_is_an_error_of_every_selector() -> None:
    with pytest.raises(AllocationFailed, match="unsupported attribute value"):
        cluster(device("d1", attrs={"x": {}})).outcome(claim(R0))


def test_three_constraints_of_growing_reach() -> None:
    rows = [("v1.0.0", 0, True), ("v1.0.1", 1, False), ("v1.0.2", 2, True), ("v1.0.0", 3, True)]
    devices = [
        shareable(f"d{i}", attrs={"version": version, "int": number, "bool": flag})
        for i, (version, number, flag) in enumerate(rows, 1)
    ]
    asked = claim(
        *(req(f"r{i}") for i in range(4)),
        constraints=[
            distinct("driver-a/bool", "r0", "r1"),
            distinct("driver-a/version", "r0", "r1", "r2"),
            distinct("driver-a/int"),
        ],
    )
    assert cluster(*devices).found(asked) == "r0 d1, r1 d2, r2 d3, r3 d4"


def test_distinct_reaches_subrequests_by_the_name_of_their_request() -> None:
    devices = [shareable("d1", attrs={"bool": True}), shareable("d2", attrs={"bool": False})]
    requests = [first(f"r{i}", sub("s0", selectors=has("bool", "")), sub("s1")) for i in range(3)]
    asked = claim(*requests, constraints=[distinct("driver-a/bool", "r0", "r1")])
    assert cluster(*devices).found(asked) == "r0/s0 d1, r1/s1 d2, r2/s0 d1"
