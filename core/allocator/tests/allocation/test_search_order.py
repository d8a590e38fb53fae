"""The order of the search, and how many steps it takes (api-semantics 7.1 and 7.5)."""

from __future__ import annotations

import pytest

from dragoman_allocator.features import Features

from .clusters import Cluster, Json, claim, device, every, first, has, mem, req, slice_, sub

BOTH_COPIES = [Features(), Features.of({"DRAListTypeAttributes": True})]
TYPED = [device("d1", attrs={"type": "X"}), device("d2", attrs={"type": "Y"}), device("d3", attrs={"type": "Y"})]


def by_size(*sizes: tuple[str, str]) -> list[Json]:
    """Slices with one slice of devices that have so much memory."""
    return [slice_("s1", *(device(name, capacity={"mem": size}) for name, size in sizes))]


FOUR = ["d1", "d2", "d3", "d4"]
ONE_SLICE = [slice_("s1", *FOUR)]
TWO_SLICES = [slice_("s1", "d1", "d2", count=2), slice_("s2", "d3", "d4", count=2)]
TWO_POOLS = [slice_("s1", "d1", "d2"), slice_("s2", "d3", "d4", pool="p2")]
FOUR_POOLS = [slice_(f"s{i}", name, pool=f"p{i}") for i, name in enumerate(FOUR)]


@pytest.mark.parametrize("features", BOTH_COPIES, ids=["incubating", "experimental"])
@pytest.mark.parametrize("slices", [ONE_SLICE, TWO_SLICES, TWO_POOLS, FOUR_POOLS])
def test_only_combinations_are_tried_when_one_device_is_missing(slices: list[Json], features: Features) -> None:
    outcome = Cluster(slices, features=features).outcome(claim(req("r0", 5)))
    assert (outcome.results, outcome.steps) == (None, 16)


@pytest.mark.parametrize("features", BOTH_COPIES, ids=["incubating", "experimental"])
def test_the_search_goes_back_into_the_request_before(features: Features) -> None:
    cluster = Cluster([slice_("s1", *TYPED)], features=features)
    asked = claim(req("r1", 2), req("r2", selectors=has("type", '== "X"')))
    assert cluster.found(asked) == "r1 d2, r1 d3, r2 d1"
    assert cluster.outcome(asked).steps == 12


@pytest.mark.parametrize("features", BOTH_COPIES, ids=["incubating", "experimental"])
def test_subrequests_are_tried_by_preference_of_the_request_before(features: Features) -> None:
    cluster = Cluster([slice_("s1", *TYPED)], features=features)
    asked = claim(
        first("r1", sub("s0", 3, selectors=has("type", '== "Y"')), sub("s1", 2)),
        first("r2", sub("s0", 2), sub("s1", selectors=has("type", '== "X"'))),
    )
    assert cluster.found(asked) == "r1/s1 d2, r1/s1 d3, r2/s1 d1"
    assert cluster.outcome(asked).steps == 26


@pytest.mark.parametrize("features", BOTH_COPIES, ids=["incubating", "experimental"])
def test_the_limit_of_results_ends_a_subrequest_at_once(features: Features) -> None:
    cluster = Cluster([slice_("s1", *(f"d{i:02}" for i in range(64)))], features=features)
    asked = claim(first("r0", sub("s0", 32), sub("s1", 16)), first("r1", sub("s0", 32), sub("s1", 16)))
    expected = [f"r0/s1 d{i:02}" for i in range(16)] + [f"r1/s1 d{i:02}" for i in range(16, 32)]
    assert cluster.placed(asked) == [expected]
    assert cluster.outcome(asked).steps == 75


@pytest.mark.parametrize("features", BOTH_COPIES, ids=["incubating", "experimental"])
def test_all_devices_leave_no_room_for_the_next_request(features: Features) -> None:
    slices = [
        slice_("s1", *(f"a{i:02}" for i in range(31))),
        slice_("s2", "b0", "b1", driver="driver-b"),
    ]
    cluster = Cluster(slices, features=features)
    asked = claim(first("r0", sub("s0", allocationMode="All"), sub("s1", 2)), req("r1", 2, cls="b"))
    assert cluster.found(asked) == "r0/s1 a00, r0/s1 a01, r1 b0, r1 b1"
    assert cluster.outcome(asked).steps == 42


SMALL_LAST = by_size(("d2", "2Gi"), ("d1", "1Gi"))


def test_a_device_is_given_up_for_a_request_that_needs_it() -> None:
    asked = claim(req("r0", selectors=mem("1Gi")), req("r1", selectors=mem("2Gi")))
    assert Cluster(SMALL_LAST).found(asked) == "r0 d1, r1 d2"


def test_a_device_is_given_up_for_a_claim_that_needs_it() -> None:
    claims = claim(req("r0", selectors=mem("1Gi")), name="c0"), claim(req("r0", selectors=mem("2Gi")), name="c1")
    assert Cluster(SMALL_LAST).found(*claims) == "r0 d1 | r0 d2"


def pools_of(cluster: Cluster, *claims: Json) -> list[str]:
    """Give pool and device of everything found."""
    results = cluster.outcome(*claims).results or []
    return [f"{r.pool}/{r.device}" for result in results for r in result.devices.results or ()]


def test_pools_are_visited_by_name_whatever_the_order_of_slices() -> None:
    slices = [slice_(f"s{i}", "d", pool=f"p{i}") for i in (3, 2, 1)]
    assert pools_of(Cluster(slices), claim(req("r0", 2))) == ["p1/d", "p2/d"]


def test_a_pool_with_binding_conditions_comes_last() -> None:
    bound = device("d", bindingConditions=["ready"], bindingFailureConditions=["failed"])
    slices = [slice_("s1", bound, pool="p1"), slice_("s2", "d", pool="p2"), slice_("s3", "d", pool="p3")]
    assert pools_of(Cluster(slices), claim(req("r0", 2))) == ["p2/d", "p3/d"]


def test_binding_conditions_do_not_reorder_a_pool() -> None:
    bound = device("d1", bindingConditions=["ready"], bindingFailureConditions=["failed"])
    slices = [slice_("s3", "d3", count=3), slice_("s2", "d2", count=3), slice_("s1", bound, count=3)]
    assert Cluster(slices).found(claim(req("r0", 2))) == "r0 d1, r0 d2"


def test_pool_names_are_ordered_by_bytes() -> None:
    slices = [slice_("s1", "d", pool="pool-2"), slice_("s2", "d", pool="pool-10")]
    assert pools_of(Cluster(slices), claim(req("r0"))) == ["pool-10/d"]


TWO_SIZES = by_size(("d1", "8Gi"), ("d2", "4Gi"))
EITHER = first("r0", sub("s0", selectors=mem("8Gi")), sub("s1", selectors=mem("4Gi")))


def test_an_earlier_request_takes_its_second_choice_for_a_later_one() -> None:
    assert Cluster(TWO_SIZES).found(claim(EITHER, req("r1", selectors=mem("8Gi")))) == "r0/s1 d2, r1 d1"


def test_a_later_request_takes_what_is_left() -> None:
    assert Cluster(TWO_SIZES).found(claim(req("r1", selectors=mem("8Gi")), EITHER)) == "r1 d1, r0/s1 d2"


def test_a_subrequest_for_two_makes_the_request_before_move() -> None:
    slices = by_size(("d1", "2Gi"), ("d2", "2Gi"), ("d3", "1Gi"))
    choice = first("r1", sub("s0", selectors=mem("4Gi")), sub("s1", 2, selectors=mem("2Gi")))
    assert Cluster(slices).found(claim(req("r0", selectors=mem("1Gi")), choice)) == "r0 d3, r1/s1 d1, r1/s1 d2"


def test_a_claim_with_hundreds_of_steps_in_a_row_needs_no_deep_stack() -> None:
    names = [f"d{i:03}" for i in range(128)]
    slices = [slice_(f"s{i}", *names, pool=f"p{i}") for i in range(5)]
    claims = [claim(*(req(f"r{i}") for i in range(32)), name=f"c{n}") for n in range(20)]
    outcome = Cluster(slices).outcome(*claims)
    assert outcome.results is not None
    assert outcome.steps == 20 * (2 * 32 + 1) + 1


def test_every_request_for_all_takes_all() -> None:
    assert Cluster(ONE_SLICE).found(claim(every("r0"))) == "r0 d1, r0 d2, r0 d3, r0 d4"
