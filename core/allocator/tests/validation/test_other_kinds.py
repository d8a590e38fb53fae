"""Rows of api-semantics 7.16 about classes, taint rules and pool status requests, and metadata of all kinds."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.features import Features

from .apiobjects import DRIVER, Json, class_, fields, pool_request, rule, selector, slice_, stored, told

NOW = "2024-01-01T00:00:00Z"


@pytest.mark.parametrize(("name", "good"), [
    ("example.com/gpu", True), ("cpu", False), ("kubernetes.io/gpu", False), ("requests.x/y", False),
])  # fmt: skip
def test_extended_resource_names(name: str, good: bool) -> None:
    found = {field for field, _ in fields(class_(extendedResourceName=name))}
    assert found == (set() if good else {"spec.extendedResourceName"})


def test_stored_selectors_are_not_compiled_again() -> None:
    old = stored(class_(selectors=[selector("no.such")]))
    changed = stored(class_(selectors=[selector("no.such"), selector("true")]))
    assert fields(old, old) == []
    assert fields(changed, old) == [("spec.selectors[0].cel.expression", "Invalid")]


@pytest.mark.parametrize(("found", "error"), [
    (rule(), []),
    (rule({}), []),
    (rule({"driver": ""}), [("spec.deviceSelector.driver", "Required")]),
    (rule({"pool": ""}), [("spec.deviceSelector.pool", "Required")]),
    (rule({"device": ""}), [("spec.deviceSelector.device", "Invalid")]),
    (rule(effect=""), [("spec.taint.effect", "Required")]),
    (rule(effect="Sometimes"), [("spec.taint.effect", "NotSupported")]),
    (rule(key=""), [("spec.taint.key", "Invalid")]),
])  # fmt: skip
def test_taint_rules(found: Json, error: list[tuple[str, str]]) -> None:
    assert sorted(set(fields(found))) == error


def test_an_unknown_effect_that_is_stored_stays_good() -> None:
    old = stored(rule(effect="Sometimes"))
    assert fields(stored(rule(effect="Sometimes")), old) == []
    assert fields(stored(rule(effect="Never")), old) == [("spec.taint.effect", "NotSupported")]


@pytest.mark.parametrize(("spec", "error"), [
    ({}, []),
    ({"limit": 1}, []),
    ({"limit": 1000}, []),
    ({"limit": 0}, ["spec.limit: Invalid value: 0: must be greater than or equal to 1"]),
    ({"limit": 1001}, ["spec.limit: Invalid value: 1001: must be less than or equal to 1000"]),
    ({"poolName": ""}, ['spec.poolName: Invalid value: "": segment 0: must not be empty']),
    ({"driver": ".".join(["a" * 60] * 4)}, []),
    ({"driver": ""}, ["spec.driver: Required value"]),
])  # fmt: skip
def test_pool_status_requests(spec: Json, error: list[str]) -> None:
    assert told(pool_request(**spec)) == error


def test_a_default_partition_attribute_is_dropped_where_the_gate_is_off() -> None:
    assert fields(pool_request(defaultPartitionTypeAttribute="bad")) == [
        ("spec.defaultPartitionTypeAttribute", "Invalid")
    ]
    assert fields(pool_request(defaultPartitionTypeAttribute="bad"), gates=Features()) == []


def answered(status: Json | None, before: Json | None = None) -> list[tuple[str, str]]:
    old, new = stored(pool_request(before)), stored(pool_request(status))
    return fields(new, old, subresource="status")


def pool(**members: Any) -> Json:
    return {"driver": DRIVER, "poolName": "p", "generation": 1, **members}


def test_the_status_of_a_pool_request_is_written_once() -> None:
    assert answered({"poolCount": 1, "pools": [pool(totalDevices=0)]}) == []
    assert answered({"poolCount": 2}, {"poolCount": 1}) == [("status", "Invalid")]
    assert answered({"poolCount": 1}, {"poolCount": 1}) == []


@pytest.mark.parametrize(("status", "error"), [
    ({}, [("poolCount", "Required")]),
    ({"poolCount": -1}, [("poolCount", "Invalid")]),
    ({"poolCount": 1, "pools": [pool()] * 1001}, [("pools", "TooMany")]),
    ({"poolCount": 1, "pools": [pool(totalDevices=-1)]}, [("pools[0].totalDevices", "Invalid")]),
    ({"poolCount": 1, "pools": [pool(validationError="x" * 257)]}, [("pools[0].validationError", "TooLong")]),
    ({"poolCount": 1, "pools": [pool(partitionSummary=[{"attribute": "a", "type": "t", "total": 1}])]},
     [("pools[0].partitionSummary[0].allocatable", "Required")]),
    ({"poolCount": 1, "pools": [pool(shareableSummary={"fullyAvailableDevices": 1})]},
     [("pools[0].shareableSummary.partiallyAvailableDevices", "Required")]),
])  # fmt: skip
def test_the_status_of_a_pool_request(status: Json, error: list[tuple[str, str]]) -> None:
    assert answered(status) == [(f"status.{where}", kind) for where, kind in error]


def test_an_update_needs_a_resource_version_and_keeps_what_names_the_object() -> None:
    old = stored(slice_())
    old["metadata"] |= {"uid": "u", "creationTimestamp": NOW, "deletionTimestamp": NOW, "finalizers": ["a.b/c"]}
    new = slice_()
    new["metadata"] = {"name": "other", "finalizers": ["a.b/c", "a.b/d"]}
    assert told(new, old) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted,"
        ' found new finalizers []string{"a.b/d"}',
        'metadata.name: Invalid value: "other": field is immutable',
        'metadata.resourceVersion: Invalid value: "": must be specified for an update',
    ]


def test_metadata_of_a_new_object() -> None:
    found = slice_()
    found["metadata"] = {
        "namespace": "x",
        "labels": {"a b": "c"},
        "annotations": {"/": ""},
        "finalizers": ["plain"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}],
    }
    assert sorted({field for field, _ in fields(found)}) == [
        "metadata.annotations",
        "metadata.finalizers[0]",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.ownerReferences[0].uid",
    ]
