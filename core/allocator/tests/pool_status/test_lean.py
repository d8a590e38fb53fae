"""Lean and whole objects, any order of claims, any limit: properties over worlds made at random."""

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_allocator.features import Features
from dragoman_allocator.objects import ResourceClaim, ResourceSlice
from dragoman_allocator.pool_status import LeanClaim, LeanSlice, Selection, describe, holders

from .poolworld import DRIVER, amounts, as_struct, claim, partition, result, slice_

AMOUNTS = st.sampled_from(["0", "1", "1500m", "2Gi", "3", "40Gi"])
NAMES = st.sampled_from(["d1", "d2", "d3", "d4"])
EFFECTS = st.sampled_from(["None", "NoSchedule", "NoExecute"])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    slices = [_slice(draw) for _ in range(draw(st.integers(0, 5)))]
    claims = []
    for _ in range(draw(st.integers(0, 5))):
        results = [
            result(
                draw(NAMES),
                pool=draw(st.sampled_from("pq")),
                adminAccess=draw(st.booleans()),
                consumedCapacity={"bw": draw(AMOUNTS)},
            )
            for _ in range(draw(st.integers(0, 3)))
        ]
        claims.append({"metadata": {"name": "c"}, "status": {"allocation": {"devices": {"results": results}}}})
    return slices, claims


def _slice(draw: st.DrawFn) -> dict[str, Any]:
    pool = {"name": draw(st.sampled_from("pq")), "generation": draw(st.integers(0, 2)), "resourceSliceCount": 1}
    spec: dict[str, Any] = {"driver": DRIVER, "pool": pool, "nodeName": draw(st.sampled_from(["n1", "n2"]))}
    if draw(st.booleans()):
        return {"spec": spec | {"sharedCounters": [{"name": "gpu", "counters": amounts({"memory": draw(AMOUNTS)})}]}}
    devices = [
        partition(
            name,
            draw(st.sampled_from(["Full", "Half"])),
            {"gpu": {"memory": "2Gi"}},
            taints=[{"key": "k", "effect": draw(EFFECTS)}],
            allowMultipleAllocations=draw(st.booleans()),
            capacity=amounts({"bw": draw(AMOUNTS)}),
        )
        for name in draw(st.lists(NAMES, unique=True))
    ]
    return {"spec": spec | {"devices": devices, "partitionTypeAttribute": f"{DRIVER}/profile"}}


def whole(slices: list[Any], claims: list[Any], **selection: Any) -> tuple[int, list[Any]]:
    objects = as_struct(slices, list[ResourceSlice]), as_struct(claims, list[ResourceClaim])
    return describe(*objects, [], Features(), Selection(driver=DRIVER, **selection))


in_any_world = settings(derandomize=True, max_examples=150, deadline=None)


class TestAnyWorld:
    @in_any_world
    @given(world=worlds())
    def test_lean_objects_give_the_same_answer(self, world: tuple[list[Any], list[Any]]) -> None:
        slices, claims = world
        lean = as_struct(slices, list[LeanSlice]), as_struct(claims, list[LeanClaim])

        assert describe(*lean, [], Features(), Selection(driver=DRIVER)) == whole(slices, claims)

    @in_any_world
    @given(world=worlds())
    def test_the_order_of_claims_does_not_matter(self, world: tuple[list[Any], list[Any]]) -> None:
        slices, claims = world
        shuffled = random.Random(1).sample(claims, len(claims))

        assert whole(slices, shuffled) == whole(slices, claims)

    @in_any_world
    @given(world=worlds())
    def test_a_limit_shows_the_first_of_all(self, world: tuple[list[Any], list[Any]]) -> None:
        count, pools = whole(*world)

        assert whole(*world, limit=1) == (count, pools[:1])

    @in_any_world
    @given(world=worlds())
    def test_counts_and_amounts_stay_within_their_bounds(self, world: tuple[list[Any], list[Any]]) -> None:
        for pool in whole(*world)[1]:
            total = pool.total_devices or 0
            assert 0 <= pool.available_devices <= total
            assert 0 <= pool.unavailable_devices <= total
            for each in pool.partition_summary or ():
                assert 0 <= each.allocatable <= each.total <= total


def test_a_claim_more_never_leaves_more() -> None:
    slices = [slice_([partition(f"d{n}", "T", {}) for n in range(4)])]
    left = []
    for number in range(5):
        (pool,) = describe(slices, [claim(*(f"d{n}" for n in range(number)))], [], Features(), Selection())[1]
        left.append(pool.available_devices)

    assert left == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("capacity", "fault"), [(1, "capacity of device d: "), ({"bw": {"value": "much"}}, "'much' is not a quantity")]
)
def test_what_is_needed_and_cannot_be_read_costs_only_the_views_of_its_pool(capacity: object, fault: str) -> None:
    odd = {"name": "d", "allowMultipleAllocations": True, "capacity": capacity}
    bodies = [
        {"spec": {"driver": DRIVER, "pool": {"name": name}, "devices": [device]}}
        for name, device in (("good", {"name": "d"}), ("odd", odd))
    ]
    lean = msgspec.json.decode(json.dumps(bodies), type=list[LeanSlice])

    good, other = describe(lean, [], [], Features(), Selection())[1]
    assert (good.total_devices, good.validation_error) == (1, None)
    assert (other.total_devices, other.available_devices, other.shareable_summary) == (1, 1, None)
    assert str(other.validation_error).startswith(fault)


def test_holders_are_listed_by_pool_and_device() -> None:
    pods = {"reservedFor": [{"resource": "pods", "name": "w"}]}
    shared = as_struct(
        {
            "metadata": {"name": "b", "namespace": "ns"},
            "status": {"allocation": {"devices": {"results": [result("d1", shareID="s")]}}, **pods},
        },
        ResourceClaim,
    )
    unallocated = as_struct({"metadata": {"name": "u"}}, ResourceClaim)
    found = holders([claim(result("d2", adminAccess=True), "d1", name="a"), shared, unallocated])

    assert [(each.device, each.claim, each.admin_access, each.share_id) for each in found[DRIVER, "p"]] == [
        ("d1", "ns/a", False, None),
        ("d1", "ns/b", False, "s"),
        ("d2", "ns/a", True, None),
    ]
    assert found[DRIVER, "p"][1].reserved_for == ("pods/w",)
