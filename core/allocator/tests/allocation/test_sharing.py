"""Devices that several claims share (api-semantics 7.9; rows with counters are in test_counters)."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.decode import decode
from dragoman_allocator.features import Features
from dragoman_allocator.objects import Node, ResourceClaim

from .clusters import N1, Cluster, Json, claim, device, every, first, held, match, req, shareable, shared, slice_, sub

RANGE = {"default": "2", "validRange": {"min": "2", "step": "2", "max": "4"}}


def ask(name: str, amount: str | None, count: int = 1) -> Json:
    """A request for an amount of ``c0``."""
    return req(name, count) if amount is None else req(name, count, capacity={"c0": amount})


def one(amount: str | None, name: str = "c") -> Json:
    """A claim of one request."""
    return claim(ask("r0", amount), name=name)


def two(amount: str | None) -> list[Json]:
    """Two such claims."""
    return [one(amount, "x"), one(amount, "y")]


def c0(*devices: tuple[str, Any]) -> list[Json]:
    """Shareable devices with a capacity ``c0``."""
    return [slice_("s1", *(shareable(name, {"c0": amount}) for name, amount in devices))]


FOUND: dict[str, tuple[list[Json], list[Json], list[Json], str | None]] = {
    "a capacity that the device lacks": ([slice_("s1", shareable("d1", {"c1": "1"}))], [], [one("1")], None),
    "a share without request takes everything": (c0(("d1", "2")), [], two(None), None),
    "a device with nothing left is passed over": (
        c0(("d1", "2"), ("d2", "2")),
        [shared("p1/d1", {"c0": "2"})],
        [one("2")],
        "r0 d2",
    ),
    "all devices that can serve it: one lacks the capacity": (
        [slice_("s1", shareable("d1", {"c0": "2"}), shareable("d2"))],
        [],
        [claim(every("r0", capacity={"c0": "2"}))],
        "r0 d1",
    ),
    "all devices that can serve it: one is too small": (
        c0(("d1", "2"), ("d2", "1")),
        [],
        [claim(every("r0", capacity={"c0": "2"}))],
        "r0 d1",
    ),
    "all devices, one in part use": (
        c0(("d1", "2"), ("d2", "1")),
        [shared("p1/d1", {"c0": "1"})],
        [claim(every("r0", capacity={"c0": "1"}))],
        "r0 d1, r0 d2",
    ),
    "all devices, one used up": (
        c0(("d1", "1"), ("d2", "1")),
        [shared("p1/d1", {"c0": "1"})],
        [claim(every("r0", capacity={"c0": "1"}))],
        None,
    ),
    "all devices after one was taken": (
        c0(("d1", "1"), ("d2", "1")),
        [],
        [claim(ask("r0", "1"), every("r1", capacity={"c0": "1"}))],
        None,
    ),
    "all devices after a part was taken": (
        c0(("d1", "2"), ("d2", "1")),
        [],
        [claim(ask("r0", "1"), every("r1", capacity={"c0": "1"}))],
        "r0 d1, r1 d1, r1 d2",
    ),
    "a device held whole is not shareable": (c0(("d1", "2")), [held("p1/d1")], [one("1")], None),
    "a request uses a device once": (c0(("d1", "2")), [], [claim(ask("r0", "1", 2))], None),
    "the spelling of a capacity counts": (c0(("d1", "1")), [], [claim(req("r0", capacity={"driver-a/c0": "1"}))], None),
    "no longer shareable, with room": (
        [slice_("s1", device("d1", capacity={"c0": "2"}))],
        [shared("p1/d1", {"c0": "1"})],
        [one("1")],
        "r0 d1",
    ),
    "no longer shareable, without room": (
        [slice_("s1", device("d1", capacity={"c0": "2"}))],
        [shared("p1/d1", {"c0": "1"})],
        [one(None)],
        None,
    ),
}


@pytest.mark.parametrize(("slices", "allocated", "claims", "found"), FOUND.values(), ids=list(FOUND))
def test_who_may_share(slices: list[Json], allocated: list[Json], claims: list[Json], found: str | None) -> None:
    assert Cluster(slices, allocated).found(*claims) == found


def shares(cluster: Cluster, *claims: Json) -> list[tuple[str, Any, Any]]:
    """Give device, share ID and consumed capacity of everything found."""
    results = cluster.outcome(*claims).results or []
    return [(r.device, r.share_id, r.consumed_capacity) for result in results for r in result.devices.results or ()]


ONE = {"c0": "1"}
RECORDED: dict[str, tuple[list[Json], list[Json], list[Json], list[tuple[str, Any, Any]]]] = {
    "without capacity": (
        [slice_("s1", shareable("d1"))],
        [],
        two(None),
        [("d1", "share-1", None), ("d1", "share-2", None)],
    ),
    "two parts of one": (c0(("d1", "2")), [], two("1"), [("d1", "share-1", ONE), ("d1", "share-2", ONE)]),
    "two whole ones": (c0(("d1", "1"), ("d2", "1")), [], two(None), [("d1", "share-1", ONE), ("d2", "share-2", ONE)]),
    "what a policy leaves": (
        c0(("d1", {"value": "4", "requestPolicy": RANGE})),
        [shared("p1/d1", {"c0": "2"})],
        [one("2")],
        [("d1", "share-1", {"c0": "2"})],
    ),
    "a device that is not shared": (
        [slice_("s1", device("d1", capacity={"c0": "1"}))],
        [],
        [one("1")],
        [("d1", None, None)],
    ),
    "the second choice": (
        c0(("d1", {"value": "2", "requestPolicy": RANGE})),
        [],
        [claim(first("r0", sub("s0", capacity={"c0": "4"}), sub("s1", capacity={"c0": "2"}), sub("s2")))],
        [("d1", "share-1", {"c0": "2"})],
    ),
}


@pytest.mark.parametrize(("slices", "allocated", "claims", "recorded"), RECORDED.values(), ids=list(RECORDED))
def test_what_is_recorded(
    slices: list[Json], allocated: list[Json], claims: list[Json], recorded: list[tuple[str, Any, Any]]
) -> None:
    assert shares(Cluster(slices, allocated), *claims) == recorded


def test_shares_and_constraints_over_two_claims() -> None:
    devices = [
        shareable("d2", {"c0": "2"}, attrs={"string": "v1"}),
        shareable("d1", {"c0": "4"}, attrs={"string": "v2"}),
    ]
    devices = [
        {**one_, "attributes": {"string": {"string": text}}} for one_, text in zip(devices, ("v1", "v2"), strict=True)
    ]
    claims = [claim(ask("r0", "2"), ask("r1", "2"), name="x", constraints=[match("driver-a/string")]), one("2", "y")]
    assert Cluster([slice_("s1", *devices)]).found(*claims) == "r0 d1, r1 d1 | r0 d2"


def test_devices_without_room_dropped_out_of_all_before_1_37() -> None:
    cluster = Cluster(
        c0(("d1", "1"), ("d2", "1")),
        [shared("p1/d1", {"c0": "1"})],
        features=Features(Features().gates, rules="1.36"),
    )
    assert cluster.found(claim(every("r0", capacity={"c0": "1"}))) == "r0 d2"


def test_a_share_holds_the_whole_device_without_the_gate() -> None:
    cluster = Cluster(
        c0(("d1", "2")), [shared("p1/d1", {"c0": "1"})], features=Features.of({"DRAConsumableCapacity": False})
    )
    assert cluster.found(claim(req("r0"))) is None


def test_assumed_allocations_count_until_they_are_forgotten() -> None:
    allocator = Cluster(c0(("d1", "2"))).allocator()
    node = decode(Node, N1)
    asked = decode(ResourceClaim, one("2"))
    before = allocator.allocate([asked], node).results
    assert before is not None
    allocator.assume(asked, before[0])
    assert allocator.allocate([asked], node).results is None
    allocator.forget(asked, before[0])
    after = allocator.allocate([asked], node).results
    assert after is not None
    assert [r.device for r in after[0].devices.results or ()] == ["d1"]
