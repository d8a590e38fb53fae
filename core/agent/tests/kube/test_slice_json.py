from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.kube.slice_json import content_json, device_json, index_of, slice_name
from dragoman.model.attribute_json import attribute_json
from dragoman.model.slices import SliceSpec
from dragoman_hookspecs import (
    AttributeValue,
    Capacity,
    CounterConsumption,
    CounterSet,
    Device,
    JsonObject,
    NodeAllocatable,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    RequestPolicy,
    Taint,
    Version,
)

FULL = Device(
    name="vf0",
    identity="0000:01:00.1",
    attributes={"ifName": "eth1", "other.example.com/x": True},
    capacity={
        "bandwidth": Capacity(value="10G", policy=RequestPolicy(default="1G", minimum="1G", maximum="8G", step="1G")),
        "queues": Capacity(value="4", policy=RequestPolicy(default="1", valid_values=("1", "2"))),
        "plain": Capacity(value="1"),
    },
    allow_multiple_allocations=True,
    counters=(CounterConsumption(counter_set="pf0", counters={"vfs": "1"}),),
    taints=(Taint(key="k"), Taint(key="k2", value="v", effect="NoExecute")),
    node_allocatable={
        "cpu": NodeAllocatable(mapping=NodeAllocatableMapping(device_multiplier="2")),
        "memory": NodeAllocatable(
            mapping=NodeAllocatableMapping(capacity_key="bandwidth", capacity_multiplier="0.5"),
            overhead=NodeAllocatableOverhead(per_pod="1Mi"),
        ),
    },
    binding_conditions=("ready",),
    binding_failure_conditions=("broken",),
)
FULL_BODY: JsonObject = {
    "attributes": {"ifName": {"string": "eth1"}, "other.example.com/x": {"bool": True}},
    "capacity": {
        "bandwidth": {
            "value": "10G",
            "requestPolicy": {"default": "1G", "validRange": {"min": "1G", "max": "8G", "step": "1G"}},
        },
        "queues": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
        "plain": {"value": "1"},
    },
    "allowMultipleAllocations": True,
    "consumesCounters": [{"counterSet": "pf0", "counters": {"vfs": {"value": "1"}}}],
    "taints": [
        {"key": "k", "effect": "NoSchedule"},
        {"key": "k2", "value": "v", "effect": "NoExecute"},
    ],
    "nodeAllocatableResources": {
        "cpu": {"mapping": {"deviceMultiplier": "2"}},
        "memory": {
            "mapping": {"capacityKey": "bandwidth", "capacityMultiplier": "0.5"},
            "overhead": {"perPod": "1Mi"},
        },
    },
    "bindingConditions": ["ready"],
    "bindingFailureConditions": ["broken"],
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, {"bool": True}),
        (False, {"bool": False}),
        (0, {"int": 0}),
        ("x", {"string": "x"}),
        (Version("1.2.3"), {"version": "1.2.3"}),
        ((True, False), {"bools": [True, False]}),
        ((1, 2), {"ints": [1, 2]}),
        (("a",), {"strings": ["a"]}),
        ((Version("1.0.0"),), {"versions": ["1.0.0"]}),
    ],
)
def test_an_attribute_has_the_one_member_of_its_type(value: AttributeValue, expected: JsonObject) -> None:
    assert attribute_json(value) == expected


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_a_device_is_flat_in_v1_and_v1beta2(version: str) -> None:
    assert device_json(FULL, version) == {"name": "vf0", **FULL_BODY}


def test_a_device_is_nested_under_basic_in_v1beta1() -> None:
    assert device_json(FULL, "v1beta1") == {"name": "vf0", "basic": FULL_BODY}


def test_a_bare_device_has_nothing_but_its_name() -> None:
    assert device_json(Device(name="d", identity="i"), "v1") == {"name": "d"}


def test_counter_sets_stand_in_a_slice_without_devices() -> None:
    spec = SliceSpec(counter_sets=(CounterSet(name="pf0", counters={"vfs": "8"}),))
    assert content_json(spec, "v1") == {"sharedCounters": [{"name": "pf0", "counters": {"vfs": {"value": "8"}}}]}


def test_the_partition_type_attribute_belongs_to_the_slice() -> None:
    spec = SliceSpec(devices=(Device(name="d", identity="i"),), partition_type_attribute="net.dragoman.dev/type")
    assert content_json(spec, "v1") == {
        "devices": [{"name": "d"}],
        "partitionTypeAttribute": "net.dragoman.dev/type",
    }


DOMAINS = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?(\.[a-z]([a-z0-9-]{0,20}[a-z0-9])?){0,9}", fullmatch=True)


@settings(derandomize=True, max_examples=100)
@given(DOMAINS, DOMAINS, st.integers(0, 2**22), st.integers(0, 3))
def test_a_slice_name_is_a_dns_subdomain_that_carries_its_index(
    driver: str, node: str, index: int, attempt: int
) -> None:
    name = slice_name(driver, node, index, attempt)
    assert len(name) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", name)
    assert index_of(name) == index


def test_names_of_other_drivers_nodes_indices_and_attempts_differ() -> None:
    pairs = [("a", "b-c"), ("a-b", "c"), ("a-b-c", "d")]
    names = [
        slice_name(driver, node, index, attempt) for driver, node in pairs for index in (0, 1) for attempt in (0, 1)
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("name", "index"),
    [("00000-d-n-x1y2z", 0), ("0001f-d-n-x1y2z", 31), ("0000-d", None), ("slice-1", None), ("00000", None)],
)
def test_the_index_is_read_from_names_of_the_go_helper_too(name: str, index: int | None) -> None:
    assert index_of(name) == index
