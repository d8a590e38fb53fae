from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.kube.slice_compare import comparable, dropped, within
from dragoman_hookspecs import JsonObject

DEVICE: JsonObject = {
    "name": "a",
    "attributes": {"x": {"bool": False}, "y": {"ints": [1]}},
    "capacity": {"m": {"value": "1Gi", "requestPolicy": {"default": "1", "validRange": {"min": "0", "step": "1000m"}}}},
    "allowMultipleAllocations": True,
    "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "2"}}}],
    "taints": [{"key": "k", "value": "1k", "effect": "NoSchedule"}],
    "bindingConditions": ["b"],
    "bindingFailureConditions": ["f"],
    "nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "1"}, "overhead": {"perPod": "100m"}}},
}


def form(device: JsonObject, **spec: object) -> JsonObject:
    return comparable({"driver": "d", "nodeName": "n", "pool": {"name": "n"}, "devices": [device], **spec})


def changed(**parts: object) -> JsonObject:
    return {**copy.deepcopy(DEVICE), **parts}


@pytest.mark.parametrize(
    "same",
    [
        changed(taints=[{"key": "k", "value": "1k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]),
        changed(
            capacity={
                "m": {
                    "value": "1073741824",
                    "requestPolicy": {
                        "default": "1000m",
                        "validRange": {"step": "1", "min": "0m"},
                        "validValues": None,
                    },
                }
            }
        ),
        changed(consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "2000m"}}}]),
        changed(
            nodeAllocatableResources={"cpu": {"overhead": {"perPod": "0.1"}, "mapping": {"deviceMultiplier": "1000m"}}}
        ),
        changed(bindsToNode=None, nodeName=None),
    ],
)
def test_the_same_said_otherwise_is_the_same(same: JsonObject) -> None:
    assert form(same) == form(DEVICE)


@pytest.mark.parametrize(
    "other",
    [
        changed(taints=[{"key": "k", "value": "1000", "effect": "NoSchedule"}]),
        changed(attributes={"x": {"bool": True}, "y": {"ints": [1]}}),
        changed(attributes={"y": {"ints": [1]}}),
        changed(capacity={"m": {"value": "1G"}}),
        changed(allowMultipleAllocations=False),
        changed(bindsToNode=True),
    ],
)
def test_another_value_is_another(other: JsonObject) -> None:
    assert form(other) != form(DEVICE)


def test_a_sharing_flag_that_is_false_is_as_none() -> None:
    assert form({"name": "a", "allowMultipleAllocations": False}) == form({"name": "a"})


def test_a_slice_without_devices_is_the_same_as_null() -> None:
    assert comparable({"devices": None}) == comparable({"devices": []}) == comparable({})


def test_the_order_of_devices_counts() -> None:
    one, two = {"name": "a"}, {"name": "b"}
    assert comparable({"devices": [one, two]}) != comparable({"devices": [two, one]})


def test_the_wrapper_of_v1beta1_does_not_count() -> None:
    nested = {"name": "a", "basic": {k: v for k, v in DEVICE.items() if k != "name"}}
    assert form(nested) == form(DEVICE)


@pytest.mark.parametrize(
    ("field", "gate"),
    [
        ("taints", "DRADeviceTaints"),
        ("consumesCounters", "DRAPartitionableDevices"),
        ("bindingConditions", "DRADeviceBindingConditions"),
        ("bindingFailureConditions", "DRADeviceBindingConditions"),
        ("allowMultipleAllocations", "DRAConsumableCapacity"),
        ("nodeAllocatableResources", "DRANodeAllocatableResources"),
    ],
)
def test_a_dropped_field_is_named_with_its_device_and_gate(field: str, gate: str) -> None:
    stored = {key: value for key, value in DEVICE.items() if key != field}
    (text,) = dropped(form(DEVICE), form(stored))
    assert text == f"device a: the API server dropped {field}: feature gate {gate} is off there"


def test_a_dropped_request_policy_is_named() -> None:
    (text,) = dropped(form(DEVICE), form(changed(capacity={"m": {"value": "1Gi"}})))
    assert "device a: the API server dropped requestPolicy: feature gate DRAConsumableCapacity" in text


@pytest.mark.parametrize(
    ("field", "value", "gate"),
    [
        ("sharedCounters", [{"name": "s", "counters": {"c": {"value": "1"}}}], "DRAPartitionableDevices is"),
        ("partitionTypeAttribute", "d/x", "DRAPartitionableDevicesType is"),
    ],
)
def test_a_dropped_field_of_the_slice_is_named(field: str, value: object, gate: str) -> None:
    (text,) = dropped(comparable({field: value}), comparable({}))
    assert field in text
    assert gate in text


def test_nothing_is_reported_of_equal_slices() -> None:
    assert list(dropped(form(DEVICE), form(DEVICE))) == []


JSON = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3),
    max_leaves=10,
)


@settings(derandomize=True, max_examples=100)
@given(st.dictionaries(st.text(max_size=3), JSON, min_size=1, max_size=3), st.data())
def test_leaving_members_out_stays_within_and_adding_does_not(whole: JsonObject, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(sorted(whole)))
    part = {key: value for key, value in whole.items() if key != gone}
    assert within(part, whole)
    assert within(whole, whole)
    assert not within(whole, part)
