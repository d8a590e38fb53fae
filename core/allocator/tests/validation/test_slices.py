"""Rows of api-semantics 7.16 about slices: devices, limits, values, scope, and what 1.37's alpha gates add."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.features import Features

from .apiobjects import ALL, Json, device, devices, fields, slice_, stored, told

COUNTERS = [{"counterSet": "set", "counters": {"mem": {"value": "1"}}}]
ADVANCED: list[Json] = [
    {"taints": [{"key": "k", "effect": "None"}]},
    {"consumesCounters": COUNTERS},
    {"attributes": {"list": {"ints": [1]}}},
]


def test_a_slice_has_up_to_128_devices() -> None:
    assert told(slice_(*devices(128))) == []
    assert told(slice_(*devices(129))) == ["spec.devices: Too many: 129: must have at most 128 items"]


@pytest.mark.parametrize("advanced", ADVANCED)
def test_one_device_with_taints_counters_or_lists_halves_the_limit(advanced: Json) -> None:
    assert told(slice_(*devices(64, **advanced))) == []
    assert told(slice_(*devices(65, **advanced))) == ["spec.devices: Too many: 65: must have at most 64 items"]


def test_attributes_and_capacities_share_a_limit_of_32() -> None:
    def both(attributes: int, capacities: int) -> Json:
        return device(
            attributes={f"a{n}": {"int": n} for n in range(attributes)},
            capacity={f"c{n}": {"value": "1"} for n in range(capacities)},
        )

    assert told(slice_(both(16, 16))) == []
    assert told(slice_(both(16, 17))) == [
        "spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32"
    ]


@pytest.mark.parametrize(("scalars", "items", "good"), [(0, 48, True), (1, 47, True), (0, 49, False), (1, 48, False)])
def test_a_device_has_up_to_48_attribute_values(scalars: int, items: int, good: bool) -> None:
    attributes: Json = {"list": {"ints": list(range(items))}, **{f"a{n}": {"int": n} for n in range(scalars)}}
    text = "spec.devices[0]: Invalid value: 49: the total number of attribute values must not exceed 48"
    assert told(slice_(device(attributes=attributes))) == ([] if good else [text])


@pytest.mark.parametrize(("text", "good"), [("x" * 64, True), ("x" * 65, False), ("ö" * 32, True), ("ö" * 33, False)])
def test_texts_have_up_to_64_bytes(text: str, good: bool) -> None:
    path = "spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes"
    assert told(slice_(device(attributes={"a": {"string": text}}))) == ([] if good else [path])


@pytest.mark.parametrize(("sets", "counters", "error"), [
    (8, 32, []),
    (9, 1, ["spec.sharedCounters: Too many: 9: must have at most 8 items"]),
    (1, 33, ["spec.sharedCounters[0].counters: Too many: 33: must have at most 32 items"]),
])  # fmt: skip
def test_a_slice_has_up_to_8_counter_sets_of_32_counters(sets: int, counters: int, error: list[str]) -> None:
    found = [{"name": f"s{n}", "counters": {f"c{i}": {"value": "1"} for i in range(counters)}} for n in range(sets)]
    assert told(slice_(devices=None, sharedCounters=found)) == error


def test_a_device_consumes_from_up_to_2_different_sets() -> None:
    def consuming(*names: str) -> Json:
        found = [{"counterSet": name, "counters": {"mem": {"value": "1"}}} for name in names]
        return slice_(device(consumesCounters=found))

    path = "spec.devices[0].consumesCounters"
    assert fields(consuming("a", "b")) == []
    assert fields(consuming("a", "b", "c")) == [(path, "TooMany")]
    assert fields(consuming("a", "a")) == [(f"{path}[1]", "Duplicate")]


def test_a_device_has_up_to_16_taints_which_may_be_equal() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    assert fields(slice_(device(taints=[taint] * 16))) == []
    assert fields(slice_(device(taints=[taint] * 17))) == [("spec.devices[0].taints", "TooMany")]


def test_a_device_has_up_to_4_binding_conditions_of_each_sort() -> None:
    def binding(count: int) -> Json:
        before, failed = [f"a{n}" for n in range(count)], [f"b{n}" for n in range(count)]
        return slice_(device(bindingConditions=before, bindingFailureConditions=failed))

    path = "spec.devices[0].binding"
    assert fields(binding(4)) == []
    assert fields(binding(5)) == [(f"{path}Conditions", "TooMany"), (f"{path}FailureConditions", "TooMany")]


def test_binding_conditions_need_failure_conditions_and_no_overlap() -> None:
    assert told(slice_(device(bindingConditions=["a"]))) == [
        "spec.devices[0].bindingFailureConditions: Invalid value: []: "
        "bindingFailureConditions are required to use bindingConditions"
    ]
    assert fields(slice_(device(bindingConditions=["a"], bindingFailureConditions=["a"]))) == [
        ("spec.devices[0].bindingFailureConditions[0]", "Invalid")
    ]


@pytest.mark.parametrize("value", [{"value": "-1"}, {"value": "10E"}])
def test_amounts_of_capacity_and_counters_are_not_limited(value: Json) -> None:
    counters = [{"counterSet": "set", "counters": {"mem": value}}]
    assert told(slice_(device(capacity={"mem": value}, consumesCounters=counters))) == []


MEMBERS = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"


@pytest.mark.parametrize(("value", "error"), [
    ({}, f"spec.devices[0].attributes[a]: Invalid value: \"\": must specify one of: {MEMBERS}"),
    ({"int": 1, "bool": True},
     f"spec.devices[0].attributes[a]: Invalid value: \"{{int, bool}}\": must specify exactly one of: {MEMBERS}"),
])  # fmt: skip
def test_an_attribute_has_one_member(value: Json, error: str) -> None:
    assert told(slice_(device(attributes={"a": value}))) == [error]


def test_a_list_attribute_is_no_attribute_where_the_gate_is_off() -> None:
    found = slice_(device(attributes={"a": {"ints": [1]}}))
    assert fields(found) == []
    assert fields(found, gates=Features()) == [("spec.devices[0].attributes[a]", "Invalid")]


@pytest.mark.parametrize("version", ["v1.2.3", "1.02.3", "1.2"])
def test_versions_are_strict(version: str) -> None:
    assert told(slice_(device(attributes={"a": {"version": version}}))) == [
        f'spec.devices[0].attributes[a].version: Invalid value: "{version}": '
        "must be a string compatible with semver.org spec 2.0.0"
    ]


def test_numbers_of_versions_have_no_limit_but_that_of_the_text() -> None:
    """The API looks at the form only; a number beyond 64 bits is refused where the version is read."""
    large = {"version": f"{2**64}.0.{'9' * 41}"}
    assert told(slice_(device(attributes={"a": large, "b": {"versions": [large["version"]]}}))) == []


NODES = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
TWO_TERMS = {"nodeSelectorTerms": NODES["nodeSelectorTerms"] * 2}


@pytest.mark.parametrize(("scope", "error"), [
    ({"nodeName": "n1"}, []),
    ({"nodeSelector": NODES}, []),
    ({}, [("spec", "Required")]),
    ({"nodeName": "n1", "allNodes": True}, [("spec", "Invalid")]),
    ({"allNodes": False}, [("spec", "Required"), ("spec.allNodes", "Invalid")]),
    ({"nodeName": ""}, [("spec", "Required"), ("spec.nodeName", "Invalid")]),
    ({"nodeSelector": TWO_TERMS}, [("spec.nodeSelector.nodeSelectorTerms", "Invalid")]),
])  # fmt: skip
def test_a_slice_has_one_scope(scope: Json, error: list[tuple[str, str]]) -> None:
    assert fields(slice_(**{"allNodes": None, **scope})) == error


@pytest.mark.parametrize(
    ("scope", "good"), [({"nodeSelector": TWO_TERMS}, True), ({"nodeName": "n1"}, True), ({}, False)]
)
def test_devices_have_scopes_of_their_own(scope: Json, good: bool) -> None:
    found = slice_(device(**scope), allNodes=None, perDeviceNodeSelection=True)
    assert fields(found) == ([] if good else [("spec.devices[0]", "Required")])


def test_devices_and_counter_sets_exclude_each_other() -> None:
    found = slice_(device(), sharedCounters=[{"name": "s", "counters": {"c": {"value": "1"}}}])
    assert told(found) == ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed']


@pytest.mark.parametrize(("groups", "error"), [
    (["a", "b"], []),
    (["a", "b", "c"], [("", "TooMany")]),
    (["a", "a"], [("[1]", "Duplicate")]),
    (["A"], [("[0]", "Invalid")]),
])  # fmt: skip
def test_compatibility_groups_are_two_different_names(groups: list[str], error: list[tuple[str, str]]) -> None:
    found = slice_(device(consumesCounters=[{**COUNTERS[0], "compatibilityGroups": groups}]))
    path = "spec.devices[0].consumesCounters[0].compatibilityGroups"
    assert fields(found) == [(path + where, kind) for where, kind in error]


@pytest.mark.parametrize(("skipped", "error"), [
    (["*"], []),
    (["NodeUnprepareResources"], []),
    (["NodePrepareResources", "NodeUnprepareResources"], []),
    (["NodePrepareResources", "*"], []),
    (["NodePrepareResources"], [("", "Invalid")]),
    (["Other"], [("[0]", "NotSupported")]),
    (["*", "*"], [("[1]", "Duplicate")]),
])  # fmt: skip
def test_node_operations_are_skipped_together(skipped: list[str], error: list[tuple[str, str]]) -> None:
    found = fields(slice_(skipNodeOperations=skipped))
    assert found == [(f"spec.skipNodeOperations{where}", kind) for where, kind in error]


@pytest.mark.parametrize(("attribute", "attributes", "error"), [
    ("dra.example.com/kind", {"kind": {"string": "a"}}, []),
    ("dra.example.com/kind", {"dra.example.com/kind": {"string": "a"}}, []),
    ("dra.example.com/kind", {}, [("spec.devices[0].attributes[dra.example.com/kind]", "Required")]),
    ("dra.example.com/kind", {"kind": {"int": 1}}, [("spec.devices[0].attributes[dra.example.com/kind]", "Invalid")]),
    ("other.example.com/kind", {"kind": {"string": "a"}},
     [("spec.devices[0].attributes[other.example.com/kind]", "Required")]),
])  # fmt: skip
def test_devices_that_consume_counters_have_the_partition_type(
    attribute: str, attributes: Json, error: list[tuple[str, str]]
) -> None:
    found = slice_(device(attributes=attributes, consumesCounters=COUNTERS), partitionTypeAttribute=attribute)
    assert fields(found) == error


def test_a_partition_type_needs_a_device_that_consumes_counters() -> None:
    assert fields(slice_(device(), partitionTypeAttribute="a.b/c")) == [("spec.partitionTypeAttribute", "Invalid")]


def allocatable(resource: str = "cpu", **members: Any) -> Json:
    found: Json = {"nodeAllocatableResources": {resource: members}}
    return slice_(device(capacity={"dra.example.com/cores": {"value": "4"}}, **found))


@pytest.mark.parametrize(("found", "error"), [
    (allocatable(mapping={"deviceMultiplier": "1"}), []),
    (allocatable(mapping={"deviceMultiplier": "1"}, overhead={"perPod": "0"}), []),
    (allocatable("hugepages-2Mi", overhead={"perContainer": "1Mi"}), []),
    (allocatable(mapping={"capacityKey": "dra.example.com/cores", "capacityMultiplier": "1"}), []),
    (allocatable("ephemeral-storage", overhead={"perPod": "1"}), [("", "Invalid")]),
    (allocatable(mapping={"capacityKey": "cores", "capacityMultiplier": "1"}), [(".mapping.capacityKey", "NotFound")]),
    (allocatable(mapping={"deviceMultiplier": "0"}), [(".mapping.deviceMultiplier", "Invalid")]),
    (allocatable(mapping={"capacityKey": "dra.example.com/cores"}), [(".mapping.capacityMultiplier", "Required")]),
    (allocatable(mapping={}), [(".mapping", "Invalid")]),
    (allocatable(overhead={}), [(".overhead", "Invalid")]),
    (allocatable(overhead={"perPod": "-1"}), [(".overhead.perPod", "Invalid")]),
    (allocatable(), [("", "Required")]),
])  # fmt: skip
def test_node_allocatable_resources(found: Json, error: list[tuple[str, str]]) -> None:
    (resource,) = found["spec"]["devices"][0]["nodeAllocatableResources"]
    path = f"spec.devices[0].nodeAllocatableResources[{resource}]"
    assert fields(found) == [(path + where, kind) for where, kind in error]


def test_driver_pool_and_node_never_change() -> None:
    old = stored(slice_(allNodes=None, nodeName="n1"))
    new = stored(slice_(allNodes=None, nodeName="n2", driver="other.example.com"))
    new["spec"]["pool"] = {"name": "other", "resourceSliceCount": 1}
    assert told(new, old) == [
        'spec.driver: Invalid value: "other.example.com": field is immutable',
        'spec.nodeName: Invalid value: "n2": field is immutable',
        'spec.pool.name: Invalid value: "other": field is immutable',
    ]


def test_capacity_and_taints_that_do_not_change_stay_good() -> None:
    bad = device(capacity={"a-b": {"value": "1"}}, taints=[{"key": "not good", "effect": "NoSchedule"}])
    old = stored(slice_(bad))
    assert len(fields(old)) == 2
    assert fields(stored(slice_(bad, device("second"))), old) == []


@pytest.mark.parametrize("gates", [ALL, Features()])
def test_a_good_slice_is_good_in_all_versions(gates: Features) -> None:
    found = device(attributes={"a": {"int": 1}}, capacity={"c": {"value": "1"}})
    for version in ("v1", "v1beta2"):
        assert fields(slice_(found, version=version), gates=gates) == []
    basic = {"name": "d", "basic": {key: value for key, value in found.items() if key != "name"}}
    assert fields(slice_(basic, version="v1beta1"), gates=gates) == []


def test_declared_errors_of_v1beta1_have_its_paths() -> None:
    basic: Json = {"attributes": {"a-b": {}}}
    assert fields(slice_({"name": "d", "basic": basic}, version="v1beta1")) == [
        ("spec.devices[0].attributes", "Invalid"),
        ("spec.devices[0].basic.attributes[a-b]", "Invalid"),
    ]
