"""Shared counters (api-semantics 7.7) and sharing with counters (rows of 7.9)."""

from __future__ import annotations

import pytest

from dragoman_allocator.decode import decode
from dragoman_allocator.features import Features
from dragoman_allocator.objects import Node, ResourceClaim

from .clusters import (
    N1,
    Cluster,
    Json,
    claim,
    consumes,
    counter_set,
    device,
    first,
    gates,
    held,
    mem,
    req,
    shareable,
    shared,
    slice_,
    sub,
)


def sized(name: str, size: str, *, needs: str | None = None) -> Json:
    """A device that takes its memory from a counter."""
    return device(name, capacity={"mem": size}, consumesCounters=[consumes("set", mem=needs or size)])


def pool(
    *devices: Json,
    name: str = "p1",
    node: str = "n1",
    driver: str = "driver-a",
    far: Json | None = None,
    **counters: str,
) -> list[Json]:
    """A slice of devices, a slice of counters, and perhaps one of another node."""
    count = 3 if far else 2
    slices = [
        slice_(f"{driver}-{name}-1", *devices, pool=name, node=node, driver=driver, count=count),
        slice_(
            f"{driver}-{name}-2",
            pool=name,
            node=node,
            driver=driver,
            count=count,
            sharedCounters=[counter_set("set", **counters)],
        ),
    ]
    return slices + (
        [slice_(f"{driver}-{name}-3", far, pool=name, node="n2", driver=driver, count=count)] if far else []
    )


R0, R1 = req("r0"), req("r1")
THREE = pool(sized("d1", "4Gi"), sized("d2", "6Gi"), sized("d3", "4Gi"), mem="8Gi")
OVERCOMMITTED = pool(sized("d1", "4Gi"), sized("d2", "20Gi"), sized("d3", "1Gi", needs="0"), device("d4"), mem="18Gi")


def two_sets(name: str, *amounts: tuple[str, str]) -> Json:
    """A device that takes memory and cpu from two sets."""
    return device(name, consumesCounters=[consumes(f"s{i}", mem=m, cpu=c) for i, (m, c) in enumerate(amounts, 1)])


TWO_SETS = [
    slice_(
        "s1",
        two_sets("d1", ("4Gi", "6"), ("2Gi", "4")),
        two_sets("d2", ("6Gi", "4"), ("6Gi", "6")),
        two_sets("d3", ("4Gi", "4"), ("4Gi", "4")),
        count=2,
    ),
    slice_(
        "s2", count=2, sharedCounters=[counter_set("s1", mem="18Gi", cpu="8"), counter_set("s2", mem="18Gi", cpu="12")]
    ),
]

FOUND: dict[str, tuple[list[Json], list[Json], Json, str | None]] = {
    "two devices that fit together": (THREE, [], claim(R0, R1), "r0 d1, r1 d3"),
    "the second choice that fits": (
        THREE,
        [],
        claim(R0, first("r1", sub("s0", selectors=mem("6Gi")), sub("s1", selectors=mem("4Gi")))),
        "r0 d1, r1/s1 d3",
    ),
    "two sets of two counters": (TWO_SETS, [], claim(R0, R1), "r0 d2, r1 d3"),
    "a counter that nobody uses": (
        pool(sized("d1", "5Gi"), sized("d2", "4Gi"), sized("d3", "4Gi"), mem="8Gi", unused="1Gi"),
        [],
        claim(req("r0", 2)),
        "r0 d2, r0 d3",
    ),
    "what is left is too little": (
        pool(sized("d1", "4Gi"), sized("d2", "16Gi"), mem="18Gi"),
        [held("p1/d2")],
        claim(R0),
        None,
    ),
    "a counter below zero blocks those that need nothing of it": (
        OVERCOMMITTED[:1] + OVERCOMMITTED[1:],
        [held("p1/d2", "p1/d4")],
        claim(R0),
        None,
    ),
    "a counter below zero leaves devices without counters alone": (OVERCOMMITTED, [held("p1/d2")], claim(R0), "r0 d4"),
    "a device of another node takes counters too": (
        pool(sized("d1", "6Gi"), sized("d2", "2Gi"), far=sized("d3", "6Gi"), mem="8Gi"),
        [held("p1/d3")],
        claim(first("r0", sub("s0", selectors=mem("6Gi")), sub("s1", selectors=mem("2Gi")))),
        "r0/s1 d2",
    ),
    "counters of two pools are apart": (
        [
            *pool(sized("d1", "1"), sized("d2", "4"), sized("d3", "4"), mem="8"),
            *pool(sized("e1", "6"), sized("e2", "1"), sized("e3", "1"), name="p2", mem="8"),
        ],
        [held("p1/d2", "p1/d3", "p2/e1")],
        claim(R0, R1),
        "r0 e2, r1 e3",
    ),
    "a device that vanished takes nothing": (THREE, [held("p1/gone")], claim(R0, R1), "r0 d1, r1 d3"),
    "equal pool names of two drivers are apart": (
        [*pool(sized("d1", "1"), mem="1"), *pool(sized("e1", "1"), driver="driver-b", mem="1")],
        [],
        claim(R0, req("r1", cls="b")),
        "r0 d1, r1 e1",
    ),
}


@pytest.mark.parametrize(("slices", "allocated", "asked", "found"), FOUND.values(), ids=list(FOUND))
def test_counters_limit_what_fits_together(
    slices: list[Json], allocated: list[Json], asked: Json, found: str | None
) -> None:
    assert Cluster(slices, allocated).found(asked) == found


def test_a_device_that_consumes_counters_is_passed_over_without_the_gate() -> None:
    slices = [slice_("s1", device("d1", consumesCounters=[consumes("set", m="1")]), "d2")]
    assert Cluster(slices, features=gates(DRAPartitionableDevices=False)).found(claim(R0)) == "r0 d2"


COUNTED_SHARE = pool(shareable("d1", consumesCounters=[consumes("set", mem="1")]), sized("d2", "1"), mem="1")


@pytest.mark.parametrize("consumed", [{"c0": "1"}, None], ids=["with capacity", "without capacity"])
def test_a_stored_share_takes_counters_once(consumed: dict[str, str] | None) -> None:
    cluster = Cluster(COUNTED_SHARE, [shared("p1/d1", consumed)])
    assert cluster.found(claim(R0)) == "r0 d1"
    assert cluster.found(claim(req("r0", 2))) is None


def test_a_stored_share_without_capacity_took_counters_twice_before_it_was_fixed() -> None:
    cluster = Cluster(COUNTED_SHARE, [shared("p1/d1")], features=Features(Features().gates, rules="1.36"))
    assert cluster.found(claim(R0)) is None


def test_shares_within_an_attempt_take_counters_once() -> None:
    slices = pool(shareable("d1", {"c": "4"}, consumesCounters=[consumes("set", mem="3")]), sized("d2", "1"), mem="4")
    two = {"c": "2"}
    assert (
        Cluster(slices).found(claim(req("r0", capacity=two), req("r1", capacity=two), req("r2")))
        == "r0 d1, r1 d1, r2 d2"
    )


def test_sharing_with_counters_and_preference() -> None:
    policy = {"default": "2", "validRange": {"min": "2", "step": "2", "max": "4"}}

    def part(name: str, c0: str, c1: str) -> Json:
        capacity = {"c0": c0, "c1": {"value": c1, "requestPolicy": policy}}
        return shareable(name, capacity, consumesCounters=[consumes("s1", c0=c0), consumes("s2", c1=c1)])

    slices = [
        slice_("s1", part("d1", "2", "4"), part("d2", "4", "4"), part("d3", "2", "4"), count=2),
        slice_("s2", count=2, sharedCounters=[counter_set("s1", c0="4"), counter_set("s2", c1="8")]),
    ]

    def at_least(amount: int) -> list[Json]:
        return [{"cel": {"expression": f'device.capacity["driver-a"].c0.compareTo(quantity("{amount}")) >= 0'}}]

    one = {"c0": "1"}
    choice = first("r1", sub("s0", selectors=at_least(4), capacity=one), sub("s1", selectors=at_least(2), capacity=one))
    outcome = Cluster(slices).outcome(claim(req("r0", capacity=one), req("r2", capacity={"c0": "2"}), choice))
    assert outcome.results is not None
    found = [(r.request, r.device, r.consumed_capacity) for r in outcome.results[0].devices.results or ()]
    assert found == [
        ("r0", "d1", {"c0": "1", "c1": "2"}),
        ("r2", "d3", {"c0": "2", "c1": "2"}),
        ("r1/s1", "d1", {"c0": "1", "c1": "2"}),
    ]


def test_nothing_is_left_behind_by_an_attempt() -> None:
    allocator = Cluster(THREE).allocator()
    asked, node = decode(ResourceClaim, claim(R0, R1)), decode(Node, N1)
    first_try, second_try = allocator.allocate([asked], node), allocator.allocate([asked], node)
    assert first_try.results is not None
    assert first_try == second_try
