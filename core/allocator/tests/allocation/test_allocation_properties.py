"""What holds for every allocation, checked by an independent judge."""

from __future__ import annotations

from hypothesis import given, settings

from dragoman_allocator.allocation import Check, DeviceId
from dragoman_allocator.decode import decode, to_json
from dragoman_allocator.features import Features
from dragoman_allocator.objects import Node, ResourceClaim

from .checker import faults
from .clusters import N1, Cluster, claim, device, gates, held, req, slice_
from .worlds import World, worlds

STABLE = Features.of("1.34")
RANDOM = settings(max_examples=60, derandomize=True, deadline=None)


@RANDOM
@given(worlds())
def test_a_result_obeys_every_rule(world: World) -> None:
    results = Cluster(world.slices, world.allocated).outcome(*world.claims).results
    if results is not None:
        assert faults(world.slices, world.allocated, world.claims, [to_json(one) for one in results]) == []


@RANDOM
@given(worlds())
def test_the_same_question_has_the_same_answer(world: World) -> None:
    cluster = Cluster(world.slices, world.allocated)
    allocator = cluster.allocator()
    asked, node = [decode(ResourceClaim, one) for one in world.claims], decode(Node, N1)
    before = allocator.allocate(asked, node)
    assert cluster.outcome(*world.claims) == before
    again = allocator.allocate(asked, node)
    assert (again.steps, again.results is None) == (before.steps, before.results is None)


@RANDOM
@given(worlds())
def test_the_order_of_slices_and_slices_of_other_nodes_change_nothing(world: World) -> None:
    far = [slice_("a-far", "f1", pool="a", node="n2"), slice_("z-far", "f2", pool="z", node="n3")]
    plain = Cluster(world.slices, world.allocated).outcome(*world.claims)
    assert Cluster([*far, *reversed(world.slices)], world.allocated).outcome(*world.claims) == plain


@RANDOM
@given(worlds())
def test_assuming_one_claim_after_the_other_never_uses_anything_twice(world: World) -> None:
    cluster = Cluster(world.slices, world.allocated)
    allocator, node = cluster.allocator(), decode(Node, N1)
    placed, results = [], []
    for one in world.claims:
        asked = decode(ResourceClaim, one)
        outcome = allocator.allocate([asked], node)
        if outcome.results is not None:
            allocator.assume(asked, outcome.results[0])
            placed.append(one)
            results.append(to_json(outcome.results[0]))
    assert faults(world.slices, world.allocated, placed, results) == []


def test_the_judge_sees_a_device_used_twice() -> None:
    slices = [slice_("s1", "d1")]
    result = {"devices": {"results": [{"request": "r0", "driver": "driver-a", "pool": "p1", "device": "d1"}]}}
    assert faults(slices, [held("p1/d1")], [claim(req("r0"))], [result]) == ["d1 is somebody else's"]


def test_an_observer_hears_the_first_failed_check_of_each_device() -> None:
    heard: list[tuple[int, str, DeviceId, Check]] = []
    tainted = device("d3", taints=[{"key": "k", "effect": "NoSchedule"}])
    cluster = Cluster([slice_("s1", "d1", "d2", tainted), slice_("s2", "e1", pool="p2")], [held("p1/d1")])
    asked = req("r0", selectors=[{"cel": {"expression": "!device.allowMultipleAllocations"}}], capacity={"c": "1"})
    cluster.outcome(claim(asked), observer=lambda *told: heard.append(told))
    assert [(device_id[2], check) for _, _, device_id, check in heard] == [
        ("d1", Check.IN_USE),
        ("d2", Check.CAPACITY_UNFIT),
        ("d3", Check.CAPACITY_UNFIT),
        ("e1", Check.CAPACITY_UNFIT),
    ]
    heard.clear()
    cluster.outcome(claim(req("r0", 3)), observer=lambda *told: heard.append(told))
    assert {(device_id[2], check) for _, _, device_id, check in heard} == {("d1", Check.IN_USE), ("d3", Check.TAINT)}


def test_the_stable_copy_tries_permutations_and_sorts_nothing() -> None:
    slices = [slice_("s2", "d2", count=2), slice_("s1", "d1", count=2)]
    cluster = Cluster(slices, features=STABLE)
    assert cluster.found(claim(req("r0", 2))) == "r0 d2, r0 d1"
    missing = cluster.outcome(claim(req("r0", 3)))
    assert (missing.results, missing.steps) == (None, 5)


def test_the_stable_copy_hides_from_selectors_that_a_device_is_shareable() -> None:
    slices = [slice_("s1", device("d1", allowMultipleAllocations=True))]
    asked = claim(req("r0", selectors=[{"cel": {"expression": "device.allowMultipleAllocations"}}]))
    assert Cluster(slices, features=STABLE).found(asked) is None
    assert Cluster(slices, features=gates()).found(asked) == "r0 d1"
