"""What a pod's status says of claims that use allocatable resources of the node (api-semantics 5.2)."""

from __future__ import annotations

import pytest

from dragoman_allocator.features import Features

from .apiobjects import Json, fields, stored

PATH = "status.nodeAllocatableResourceClaimStatuses"


def pod(*entries: Json, listed: bool = True) -> Json:
    found: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "n1", "resourceClaims": [{"name": "a", "resourceClaimName": "mine"}]},
        "status": {"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "made"}], "phase": "Running"},
    }
    if listed:
        found["status"]["nodeAllocatableResourceClaimStatuses"] = list(entries)
    return stored(found)


def entry(name: str = "mine", **members: Json | list[Json] | list[str]) -> Json:
    return {"resourceClaimName": name, **members}


@pytest.mark.parametrize(("found", "error"), [
    (entry(mapping=[{"name": "cpu", "quantity": "1"}], overhead=[{"name": "memory", "perPod": "1Mi"}]), []),
    (entry("made", containers=["a", "b"]), []),
    (entry("other"), [(".resourceClaimName", "Invalid")]),
    (entry(""), [(".resourceClaimName", "Required")]),
    (entry(containers=["a", "a"]), [(".containers[1]", "Duplicate")]),
    (entry(mapping=[{"name": "cpu", "quantity": "1"}] * 2), [(".mapping[1]", "Duplicate")]),
    (entry(mapping=[{"name": "ephemeral-storage", "quantity": "1"}]), [(".mapping[0].name", "Invalid")]),
    (entry(mapping=[{"name": "cpu", "quantity": "-1"}]), [(".mapping[0].quantity", "Invalid")]),
    (entry(mapping=[{"name": "cpu"}]), [(".mapping[0].quantity", "Required")]),
    (entry(overhead=[{"name": "cpu"}]), [(".overhead[0]", "Invalid")]),
    (entry(overhead=[{"name": "cpu", "perContainer": "-1"}]), [(".overhead[0].perContainer", "Invalid")]),
])  # fmt: skip
def test_an_entry(found: Json, error: list[tuple[str, str]]) -> None:
    expected = [(f"{PATH}[0]{where}", kind) for where, kind in error]
    assert fields(pod(found), pod(), subresource="status") == expected


def test_a_claim_has_one_entry() -> None:
    found = fields(pod(entry(), entry()), pod(), subresource="status")
    assert found == [(f"{PATH}[1]", "Duplicate")]


def test_entries_are_dropped_where_the_gate_is_off_unless_they_are_stored() -> None:
    bad = entry("other")
    assert fields(pod(bad), pod(), gates=Features(), subresource="status") == []
    assert fields(pod(bad), pod(entry()), gates=Features(), subresource="status") != []


def test_an_update_that_leaves_the_entries_out_keeps_them() -> None:
    kept = pod(entry("other"))
    assert fields(pod(listed=False), kept, subresource="status") == [(f"{PATH}[0].resourceClaimName", "Invalid")]
    assert fields(pod(), kept, subresource="status") == []
