"""Generations, completeness and validity of pools as seen from node n1 (api-semantics 7.2)."""

from __future__ import annotations

import pytest

from dragoman_allocator.errors import AllocationFailed, FailedOnNode

from .clusters import Cluster, Json, claim, consumes, counter_set, device, every, held, req, slice_

ONE = claim(req("r0"))
ALL = claim(every("r0"))
TWICE = [slice_("s1", "d1", count=2), slice_("s2", "d1", count=2)]
NEWER_ELSEWHERE = [slice_("s1", "d1", count=2), slice_("s2", "d2", node="n2", gen=2, count=2)]
SET = [counter_set("set", m="4")]
USES_UNKNOWN = device("d2", consumesCounters=[consumes("unknown", m="1")])

FOUND = {
    "an incomplete pool gives nothing": ([slice_("s1", "d1", count=2)], ONE, None),
    "a newer generation on another node makes the pool obsolete": (NEWER_ELSEWHERE, ONE, None),
    "an obsolete pool is not incomplete for a request for all": (NEWER_ELSEWHERE, ALL, None),
    "a complete generation on this node hides a newer one elsewhere": (
        [slice_(f"s{i}", f"d{i}", count=2) for i in (1, 2)]
        + [slice_(f"t{i}", f"e{i}", node="n2", gen=2, count=2) for i in (1, 2)],
        ONE,
        "r0 d1",
    ),
    "the newest generation counts": (
        [slice_(f"t{i}", f"e{i}", node="n2", count=2) for i in (1, 2)]
        + [slice_(f"s{i}", f"d{i}", gen=2, count=2) for i in (1, 2)],
        ONE,
        "r0 d1",
    ),
    "a half published new generation is incomplete": (
        [slice_(f"t{i}", f"e{i}", node="n2", count=2) for i in (1, 2)] + [slice_("s1", "d1", gen=2, count=2)],
        ONE,
        None,
    ),
    "all devices are those of this node": (
        [slice_("s1", "d1", count=2), slice_("s2", "d2", node="n2", count=2)],
        ALL,
        "r0 d1",
    ),
    "a valid pool serves beside an invalid one": ([*TWICE, slice_("s3", "d2", pool="p2")], ONE, "r0 d2"),
    "an old slice does not complete the new generation": (
        [slice_("s1", "d1"), slice_("s2", "d2", gen=2, count=2)],
        ONE,
        None,
    ),
    "too many slices are incomplete": ([slice_("s1", "d1"), slice_("s2", "d2")], ONE, None),
    "the count is read from the first slice": (
        [slice_("s1", "d1", count=2), slice_("s2", "d2", count=5)],
        claim(req("r0", 2)),
        "r0 d1, r0 d2",
    ),
    "counters may live in a slice of another node": (
        [
            slice_("s1", device("d1", consumesCounters=[consumes("set", m="1")]), count=2),
            slice_("s2", node="n2", count=2, sharedCounters=SET),
        ],
        ONE,
        "r0 d1",
    ),
    "duplicate names on another node go unnoticed": (
        [slice_("s1", "d1", count=3), slice_("s2", "x", node="n2", count=3), slice_("s3", "x", node="n2", count=3)],
        ONE,
        "r0 d1",
    ),
}


@pytest.mark.parametrize(("slices", "asked", "found"), FOUND.values(), ids=list(FOUND))
def test_what_a_pool_offers(slices: list[Json], asked: Json, found: str | None) -> None:
    assert Cluster(slices).found(asked) == found


INVALID = {
    "a device name twice": TWICE,
    "a counter set twice": [
        slice_("s1", "d1", count=3),
        *(slice_(f"s{i}", count=3, sharedCounters=SET) for i in (2, 3)),
    ],
    "an unknown counter set, even on another node": [
        slice_("s1", "d1", count=2),
        slice_("s2", USES_UNKNOWN, node="n2", count=2),
    ],
    "an unknown counter": [
        slice_("s1", device("d1", consumesCounters=[consumes("set", other="1")]), count=2),
        slice_("s2", count=2, sharedCounters=SET),
    ],
}


@pytest.mark.parametrize("slices", INVALID.values(), ids=list(INVALID))
def test_an_invalid_pool_fails_this_node_only(slices: list[Json]) -> None:
    with pytest.raises(FailedOnNode, match=r"^invalid resource pools were encountered$"):
        Cluster(slices).outcome(ONE)


def test_an_invalid_pool_fails_the_node_when_the_valid_one_is_used_up() -> None:
    with pytest.raises(FailedOnNode):
        Cluster([*TWICE, slice_("s3", "d2", pool="p2")], [held("p2/d2")]).outcome(ONE)


def test_all_devices_of_an_incomplete_pool_is_fatal() -> None:
    with pytest.raises(AllocationFailed, match=r"driver-a/p1 is currently being updated$") as raised:
        Cluster([slice_("s1", "d1", count=2)]).outcome(ALL)
    assert not isinstance(raised.value, FailedOnNode)


@pytest.mark.parametrize("asked", [ALL, claim(every("r0", cls="b"))], ids=["same driver", "other driver"])
def test_all_devices_beside_an_invalid_pool_is_fatal(asked: Json) -> None:
    with pytest.raises(AllocationFailed, match=r"driver-a/p1 is currently invalid$") as raised:
        Cluster(TWICE).outcome(asked)
    assert not isinstance(raised.value, FailedOnNode)


def selects(**requirement: object) -> Json:
    """A node selector with one requirement on a label."""
    return {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}


def test_a_broken_node_selector_is_fatal() -> None:
    broken = slice_("s1", "d1", node=None, nodeSelector=selects(key="no label!", operator="Exists"))
    with pytest.raises(
        AllocationFailed, match=r"^gather pool information: failed to perform node selection for slice s1: "
    ):
        Cluster([broken]).outcome(ONE)


SELECTORS = {
    "In": ({"key": "region", "operator": "In", "values": ["west", "east"]}, True),
    "In of a missing label": ({"key": "none", "operator": "In", "values": ["east"]}, False),
    "NotIn": ({"key": "region", "operator": "NotIn", "values": ["east"]}, False),
    "NotIn of a missing label": ({"key": "none", "operator": "NotIn", "values": ["east"]}, True),
    "Exists": ({"key": "region", "operator": "Exists"}, True),
    "DoesNotExist": ({"key": "region", "operator": "DoesNotExist"}, False),
    "Gt": ({"key": "cores", "operator": "Gt", "values": ["7"]}, True),
    "Gt of the same": ({"key": "cores", "operator": "Gt", "values": ["8"]}, False),
    "Lt": ({"key": "cores", "operator": "Lt", "values": ["9"]}, True),
    "Lt of no number": ({"key": "region", "operator": "Lt", "values": ["9"]}, False),
}


@pytest.mark.parametrize(("requirement", "reached"), SELECTORS.values(), ids=list(SELECTORS))
def test_node_labels_decide_who_reaches_a_slice(requirement: Json, reached: bool) -> None:
    node = {"metadata": {"name": "n1", "labels": {"region": "east", "cores": "8"}}}
    cluster = Cluster([slice_("s1", "d1", node=None, nodeSelector=selects(**requirement))])
    assert (cluster.found(ONE, node=node) is not None) == reached


def test_the_name_of_the_node_can_be_selected() -> None:
    by_name = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    cluster = Cluster([slice_("s1", "d1", node=None, nodeSelector=by_name)])
    assert cluster.found(ONE) == "r0 d1"
    assert cluster.found(ONE, node={"metadata": {"name": "n2"}}) is None


def test_a_slice_without_a_known_scope_is_ignored() -> None:
    assert Cluster([slice_("s1", "d1", node=None)]).found(ONE) is None
