"""Taints, rules and admin access (api-semantics 7.6)."""

from __future__ import annotations

import pytest

from dragoman_allocator.features import Features

from .clusters import (
    Cluster,
    Json,
    claim,
    consumes,
    counter_set,
    device,
    every,
    first,
    gates,
    held,
    req,
    shareable,
    shared,
    slice_,
    sub,
)


def taint(effect: str, key: str = "k", value: str = "") -> Json:
    """A taint."""
    return {"key": key, "value": value, "effect": effect}


NO_EXECUTE = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
NO_SCHEDULE = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}
TAINTED = [slice_("s1", device("d1", taints=[taint("NoSchedule")]), device("d2", taints=[taint("NoExecute")]))]


def one(*taints: Json) -> list[Json]:
    """A device with taints."""
    return [slice_("s1", device("d1", taints=list(taints)))]


TOLERATED: dict[str, tuple[list[Json], Json, str | None]] = {
    "both effects keep claims off": (TAINTED, claim(req("r0")), None),
    "a toleration of one effect": (TAINTED, claim(req("r0", tolerations=[NO_EXECUTE])), "r0 d2"),
    "a subrequest that tolerates": (
        TAINTED,
        claim(first("r0", sub("s0"), sub("s1", tolerations=[NO_EXECUTE]))),
        "r0/s1 d2",
    ),
    "effect None": (one(taint("None")), claim(req("r0")), "r0 d1"),
    "an effect of the future": (one(taint("NoPanic")), claim(req("r0")), "r0 d1"),
    "one of two taints tolerated": (
        one(taint("NoSchedule"), taint("NoExecute")),
        claim(req("r0", tolerations=[NO_EXECUTE])),
        None,
    ),
    "two taints, two tolerations": (
        one(taint("NoSchedule"), taint("NoExecute")),
        claim(req("r0", tolerations=[NO_EXECUTE, NO_SCHEDULE])),
        "r0 d1",
    ),
    "everything tolerated": (TAINTED, claim(req("r0", 2, tolerations=[{"operator": "Exists"}])), "r0 d1, r0 d2"),
    "another value": (
        one(taint("NoSchedule", value="w")),
        claim(req("r0", tolerations=[{"key": "k", "value": "v"}])),
        None,
    ),
    "the same value": (
        one(taint("NoSchedule", value="v")),
        claim(req("r0", tolerations=[{"key": "k", "value": "v"}])),
        "r0 d1",
    ),
    "any key with the same value": (
        one(taint("NoSchedule", value="v")),
        claim(req("r0", tolerations=[{"operator": "Equal", "value": "v"}])),
        "r0 d1",
    ),
    "an operator of the future": (
        one(taint("NoSchedule")),
        claim(req("r0", tolerations=[{"key": "k", "operator": "Like"}])),
        None,
    ),
    "admin access is no toleration": (one(taint("NoSchedule")), claim(req("r0", adminAccess=True)), None),
}


@pytest.mark.parametrize(("slices", "asked", "found"), TOLERATED.values(), ids=list(TOLERATED))
def test_taints_keep_claims_off_that_do_not_tolerate_them(slices: list[Json], asked: Json, found: str | None) -> None:
    assert Cluster(slices).found(asked) == found


def test_tolerations_are_copied_into_the_result() -> None:
    result = Cluster(TAINTED).result(claim(req("r0", tolerations=[NO_EXECUTE])))
    assert [(t.key, t.operator, t.effect) for t in result.tolerations or ()] == [("k", "Exists", "NoExecute")]


def rule(selector: Json | None, effect: str = "NoSchedule") -> Json:
    """A DeviceTaintRule."""
    spec: Json = {"taint": taint(effect)}
    return {"metadata": {"name": "rule"}, "spec": spec if selector is None else {**spec, "deviceSelector": selector}}


POOLS = [slice_("s1", "d1"), slice_("s2", "d2", pool="p2"), slice_("s3", "d3", driver="driver-b")]
RULES: dict[str, tuple[Json | None, str | None]] = {
    "an empty selector": ({}, None),
    "no selector": (None, "r0 d1, r0 d2, r0 d3"),
    "a driver": ({"driver": "driver-b"}, "r0 d1, r0 d2"),
    "a pool": ({"pool": "p2"}, "r0 d1, r0 d3"),
    "a device": ({"device": "d1"}, "r0 d2, r0 d3"),
    "a device of another driver": ({"driver": "driver-b", "device": "d1"}, "r0 d1, r0 d2, r0 d3"),
}


@pytest.mark.parametrize(("selector", "left"), RULES.values(), ids=list(RULES))
def test_a_rule_taints_what_it_selects(selector: Json | None, left: str | None) -> None:
    count = left.count(",") + 1 if left else 1
    assert Cluster(POOLS, rules=[rule(selector)]).found(claim(req("r0", count, cls="any"))) == left
    assert (
        not left
        or Cluster(POOLS, rules=[rule(selector)]).found(claim(req("r0", count + 1, cls="any"))) is None
        or count == 3
    )


def test_rules_are_ignored_without_their_gate() -> None:
    cluster = Cluster(POOLS, rules=[rule({})], features=gates(DRADeviceTaintRules=False))
    assert cluster.found(claim(req("r0"))) == "r0 d1"


def test_taints_are_ignored_without_their_gate() -> None:
    assert Cluster(TAINTED, features=gates(DRADeviceTaints=False)).found(claim(req("r0"))) == "r0 d1"


def test_a_rule_without_selector_tainted_everything_before_it_was_fixed() -> None:
    features = Features(Features().gates, rules="1.36")
    assert Cluster(POOLS, rules=[rule(None)], features=features).found(claim(req("r0"))) is None


ADMIN = req("r0", adminAccess=True)
TWO = [slice_("s1", "d1", "d2")]
D1 = [slice_("s1", "d1")]
COUNTED = [
    slice_("s1", *(device(name, consumesCounters=[consumes("set", m="2")]) for name in ("d1", "d2")), count=2),
    slice_("s2", count=2, sharedCounters=[counter_set("set", m="2")]),
]

ADMIN_FOUND: dict[str, tuple[list[Json], list[Json], list[Json], str | None]] = {
    "all devices, one in use": (TWO, [held("p1/d1")], [claim(every("r0", adminAccess=True))], "r0 d1, r0 d2"),
    "two devices, one in use": (TWO, [held("p1/d1")], [claim(req("r0", 2, adminAccess=True))], "r0 d1, r0 d2"),
    "twice in one claim": (TWO, [], [claim(ADMIN, every("r1", adminAccess=True))], None),
    "in two claims": (TWO, [], [claim(ADMIN, name="c0"), claim(ADMIN, name="c1")], "r0 d1 | r0 d1"),
    "after an ordinary claim": (D1, [], [claim(req("r0"), name="c0"), claim(ADMIN, name="c1")], "r0 d1 | r0 d1"),
    "before an ordinary claim": (D1, [], [claim(ADMIN, name="c0"), claim(req("r0"), name="c1")], None),
    "after an ordinary request": (D1, [], [claim(req("r0"), req("r1", adminAccess=True))], None),
    "counters are needed even for a device in use": (COUNTED, [held("p1/d1")], [claim(ADMIN)], None),
    "no capacity left": (
        [slice_("s1", shareable("d1", {"c0": "1"}))],
        [shared("p1/d1", {"c0": "1"})],
        [claim(req("r0", adminAccess=True, capacity={"c0": "1"}))],
        None,
    ),
    "shares without capacity": (
        [slice_("s1", shareable("d1"))],
        [],
        [claim(ADMIN, req("r1", adminAccess=True))],
        "r0 d1, r1 d1",
    ),
    "results of admin access hold nothing": (D1, [held("p1/d1", adminAccess=True)], [claim(req("r0"))], "r0 d1"),
}


@pytest.mark.parametrize(("slices", "allocated", "claims", "found"), ADMIN_FOUND.values(), ids=list(ADMIN_FOUND))
def test_admin_access(slices: list[Json], allocated: list[Json], claims: list[Json], found: str | None) -> None:
    assert Cluster(slices, allocated).found(*claims) == found


def test_results_of_admin_access_say_so() -> None:
    assert Cluster(D1).result(claim(ADMIN)).admin_access is True


def test_admin_access_to_a_shared_device_consumes_capacity() -> None:
    cluster = Cluster([slice_("s1", shareable("d1", {"c0": "2"}))], [shared("p1/d1", {"c0": "1"})])
    result = cluster.result(claim(req("r0", adminAccess=True, capacity={"c0": "1"})))
    assert (result.share_id, result.consumed_capacity, result.admin_access) == ("share-1", {"c0": "1"}, True)
