"""Kinds ``allocate`` and ``podAllocatable`` of the batch interface."""

from __future__ import annotations

import json
from typing import Any

from dragoman_allocator.batch import patience
from dragoman_allocator.batch.loop import answer

SLICE = {
    "metadata": {"name": "s1"},
    "spec": {
        "driver": "driver-a",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "allNodes": True,
        "devices": [{"name": "d1"}, {"name": "d2"}],
    },
}
CLASS = {"metadata": {"name": "c"}}


def claim(name: str, device: str | None = None, uid: str = "") -> dict[str, Any]:
    body: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "ns", "uid": uid or name},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
    }
    if device is not None:
        result = {"request": "r", "driver": "driver-a", "pool": "p", "device": device}
        body["status"] = {"allocation": {"devices": {"results": [result]}}}
    return body


def ask(kind: str, **members: Any) -> Any:
    line = {
        "id": 1,
        "kind": kind,
        "slices": [SLICE],
        "classes": [CLASS],
        "node": {"metadata": {"name": "n1"}},
    } | members
    return json.loads(answer(json.dumps(line).encode()))


def test_of_several_allocated_claims_with_one_name_the_first_counts_as_in_the_schedulers_cache() -> None:
    held = [claim("x", "d1"), claim("x", "d2")]
    (found,) = ask("allocate", claims=[claim("new")], allocatedClaims=held)["results"]
    assert [each["device"] for each in found["devices"]["results"]] == ["d2"]
    assert ask("allocate", claims=[claim("new")], allocatedClaims=[*held, claim("y", "d2")])["results"] is None


def test_of_several_claims_with_the_name_that_a_pod_gives_it_gets_the_first() -> None:
    pod = {
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {"resourceClaims": [{"name": "c", "resourceClaimName": "x"}]},
    }
    claims = [claim("x", uid="1"), claim("x", uid="2")]
    assert [bool(each) for each in ask("podAllocatable", pod=pod, claims=claims)["allocations"]] == [True, False]


def test_patience_ends_and_does_not_come_back() -> None:
    assert [patience.until(0)(), patience.until(3600)()] == [True, False]
