"""Which requests and constraints cannot be had together, and which single changes help."""

from __future__ import annotations

from typing import Any

from dragoman_allocator.decode import decode
from dragoman_allocator.objects import Node, ResourceClaim
from dragoman_allocator.reasons import Conflict, summary, to_json
from dragoman_allocator.reasons.trials import Trials, Verdict

from ..allocation.clusters import (  # noqa: TID252 - tests have no package of their own
    N1,
    Cluster,
    Json,
    claim,
    consumes,
    counter_set,
    device,
    first,
    has,
    held,
    match,
    req,
    slice_,
    sub,
)
from .explained import explained

NUMA = Cluster(
    [
        slice_(
            "s",
            *(
                device(name, attrs={"numa": numa, "kind": kind})
                for name, numa, kind in [
                    ("g0", 0, "gpu"),
                    ("g1", 0, "gpu"),
                    ("n0", 1, "nic"),
                    ("n1", 2, "nic"),
                    ("x0", 0, "disk"),
                ]
            ),
        )
    ]
)


def kind(of: str, name: str, count: int = 1) -> Json:
    return req(name, count, selectors=has("kind", f'== "{of}"'))


def conflict_of(cluster: Cluster, *claims: Json) -> Conflict:
    conflict = explained(cluster, *claims).conflict
    assert conflict is not None
    return conflict


def names(conflict: Conflict) -> list[str]:
    return [each.request for each in conflict.requests]


def test_a_constraint_and_the_requests_that_it_breaks_are_named_with_their_values() -> None:
    asked = claim(
        kind("disk", "disk"),
        kind("gpu", "gpu"),
        kind("nic", "nic"),
        constraints=[match("driver-a/kind", "disk"), match("driver-a/numa", "gpu", "nic")],
    )
    conflict = conflict_of(NUMA, asked)
    assert names(conflict) == ["gpu", "nic"]
    assert [(each.index, each.attribute) for each in conflict.constraints] == [(1, "driver-a/numa")]
    assert conflict.constraints[0].values == {"gpu": ["0"], "nic": ["1", "2"]}
    assert conflict.minimal
    assert conflict.text == (
        "no choice of devices for requests gpu and nic satisfies constraint #1, matchAttribute driver-a/numa "
        "(gpu has 0; nic has 1, 2)"
    )


def test_one_request_alone_is_the_smallest_conflict() -> None:
    conflict = conflict_of(NUMA, claim(kind("gpu", "a"), kind("gpu", "b", 3), constraints=[match("driver-a/numa")]))
    assert (names(conflict), conflict.constraints) == (["b"], ())
    assert conflict.text == "request b wants 3 devices of class a, 2 of 5 fit: 3 request selector"


def test_requests_that_want_more_devices_together_than_there_are() -> None:
    conflict = conflict_of(NUMA, claim(kind("disk", "c"), kind("gpu", "a"), kind("gpu", "b", 2)))
    assert names(conflict) == ["a", "b"]
    assert conflict.text == "requests a and b want 3 devices together, only 2 fit: g0, g1"


def test_claims_of_one_attempt_conflict_with_each_other() -> None:
    conflict = conflict_of(NUMA, claim(kind("disk", "r"), name="c1"), claim(kind("disk", "r"), name="c2"))
    assert [(each.claim, each.request) for each in conflict.requests] == [("ns/c1", "r"), ("ns/c2", "r")]
    assert "r of claim ns/c1 and r of claim ns/c2 want 2 devices together" in conflict.text


def test_counters_that_do_not_suffice_for_both_are_what_the_search_ran_into() -> None:
    cluster = Cluster(
        [
            slice_("s0", count=2, sharedCounters=[counter_set("mem", total="4")]),
            slice_("s1", *(device(f"d{i}", consumesCounters=[consumes("mem", total="3")]) for i in (1, 2)), count=2),
        ]
    )
    reasons = explained(cluster, claim(req("a"), req("b")))
    assert reasons.conflict is not None
    assert names(reasons.conflict) == ["a", "b"]
    assert reasons.conflict.text == (
        "requests a and b cannot be had together, though devices fit one by one: 2 counters used"
    )


def test_subrequests_are_one_request() -> None:
    either = first(
        "a", sub("gpu", selectors=has("kind", '== "fpga"')), sub("disk", 2, selectors=has("kind", '== "disk"'))
    )
    reasons = explained(NUMA, claim(kind("nic", "n"), either))
    assert [each.request for each in reasons.requests] == ["n", "a/gpu", "a/disk"]
    assert reasons.conflict is not None
    assert names(reasons.conflict) == ["a"]


def test_the_conflict_is_minimal_in_that_any_part_of_it_fits() -> None:
    asked = claim(
        *(kind("gpu", f"g{i}") for i in range(3)), kind("nic", "n"), constraints=[match("driver-a/numa", "g0", "n")]
    )
    conflict = conflict_of(NUMA, asked)
    assert names(conflict) in (["g0", "g1", "g2"], ["g0", "n"])
    for left_out in names(conflict):
        rest = [each for each in asked["spec"]["devices"]["requests"] if each["name"] in names(conflict)]
        kept = claim(*(each for each in rest if each["name"] != left_out))
        assert NUMA.placed(kept) is not None


def test_releasing_a_claim_and_tolerating_a_taint_are_named_where_they_help() -> None:
    cluster = Cluster(
        [slice_("s", "d1", device("d2", taints=[{"key": "hot", "value": "v", "effect": "NoSchedule"}]))],
        [held("p1/d1")],
    )
    reasons = explained(cluster, claim(req("r")), remedies=True)
    assert [each.text for each in reasons.remedies] == ["release claim ns/held", "tolerate taint hot=v:NoSchedule"]
    assert cluster.allocator().allocated.of(("driver-a", "p1", "d1")).allocated


def test_a_change_that_does_not_help_is_not_named() -> None:
    tainted = device("d1", taints=[{"key": "hot", "effect": "NoSchedule"}])
    reasons = explained(Cluster([slice_("s", tainted)], [held("p1/d1")]), claim(req("r")), remedies=True)
    assert reasons.remedies == []


def test_trials_stop_when_their_steps_are_used_up() -> None:
    asked = [decode(ResourceClaim, claim(kind("gpu", "a")))]
    trials = Trials(NUMA.allocator(), decode(Node, N1), limit=10, total=5)
    assert [trials.verdict(asked) for _ in range(3)] == [Verdict.FITS, Verdict.UNKNOWN, Verdict.UNKNOWN]


def test_a_search_that_is_given_up_is_undecided() -> None:
    reasons = explained(Cluster([slice_("s", "d1", "d2", "d3")]), claim(req("a", 2)), steps=2)
    assert (reasons.undecided, reasons.results) == (True, None)
    assert summary(reasons) == "the search was given up after 2 steps"


def test_json_leaves_out_what_is_empty() -> None:
    body: dict[str, Any] = to_json(explained(Cluster([slice_("s", "d1")], [held("p1/d1")]), claim(req("r"))))
    assert set(body) == {"text", "requests", "conflict"}
    assert body["requests"][0]["devices"][0]["failed"][0]["check"] == "InUse"
    assert body["text"] == summary(explained(Cluster([slice_("s", "d1")], [held("p1/d1")]), claim(req("r"))))
