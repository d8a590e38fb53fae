"""What a slice may hold. Refusals name field and reason alike."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_hookspecs import JsonObject
from tests.cluster.shared.wire import SLICES, Answer, Wire, slice_of

TAINT = {"key": "k", "effect": "NoSchedule"}
TAINTS = pytest.mark.since(36, "devices with taints have no limit of their own")
WORDS = pytest.mark.since(36, "a refusal names another field or reason")
GATES = pytest.mark.since(36, "the gate of these fields is off, and they are dropped")
POLICY = {"value": "1", "requestPolicy": {"default": "1"}}


def many(count: int, **fields: object) -> list[JsonObject]:
    return [{"name": f"d{n}", **fields} for n in range(count)]


def with_attributes(**attributes: JsonObject) -> list[JsonObject]:
    return [{"name": "a", "attributes": attributes}]


def numbers(count: int) -> dict[str, JsonObject]:
    return {f"a{n}": {"int": n} for n in range(count)}


def sets(count: int, counters: int = 1) -> list[JsonObject]:
    return [{"name": f"s{n}", "counters": {f"c{m}": {"value": "1"} for m in range(counters)}} for n in range(count)]


def publish(server: Wire, driver: str, devices: list[JsonObject], spec: dict[str, Any]) -> Answer:
    return server.ask("POST", SLICES, slice_of(spec.get("driver", driver), *devices, **_without(spec, "driver")))


def _without(spec: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key != name}


@pytest.mark.parametrize(
    ("devices", "spec"),
    [
        (many(128), {}),
        ([*many(63), {"name": "x", "taints": [TAINT]}], {}),
        ([{"name": "a", "attributes": numbers(31), "capacity": {"b": {"value": "-1"}}}], {}),
        (with_attributes(x={"string": "x" * 64}, y={"version": "1.2.3-a+b"}, z={"bool": False}), {}),
        ([{"name": "a", "attributes": {"d.example.com/x": {"int": 1}}}], {}),
        ([{"name": "a", "allowMultipleAllocations": True, "capacity": {"c": POLICY}}], {}),
        ([], {"devices": None, "sharedCounters": sets(8, 32)}),
        ([], {"pool": {"name": "a.b/c", "generation": 0, "resourceSliceCount": 1}}),
    ],
)
def test_what_is_within_the_limits_is_taken(
    server: Wire, driver: str, devices: list[JsonObject], spec: dict[str, Any]
) -> None:
    assert publish(server, driver, devices, spec).status == 201


@pytest.mark.parametrize(
    ("devices", "spec", "field", "reason"),
    [
        (many(129), {}, "spec.devices", "TooMany"),
        pytest.param([*many(64), {"name": "x", "taints": [TAINT]}], {}, "spec.devices", "TooMany", marks=TAINTS),
        (with_attributes(**numbers(33)), {}, "spec.devices[0]", "Invalid"),
        (with_attributes(x={"string": "é" * 33}), {}, "spec.devices[0].attributes[x].string", "TooLong"),
        (with_attributes(x={"version": "v1.2.3"}), {}, "spec.devices[0].attributes[x].version", "Invalid"),
        pytest.param(with_attributes(x={}), {}, "spec.devices[0].attributes[x]", "Invalid", marks=WORDS),
        (with_attributes(x={"int": 1, "bool": True}), {}, "spec.devices[0].attributes[x]", "Invalid"),
        pytest.param(with_attributes(**{"a-b": {"int": 1}}), {}, "spec.devices[0].attributes", "Invalid", marks=WORDS),
        pytest.param(
            with_attributes(**{"x" * 33: {"int": 1}}), {}, "spec.devices[0].attributes", "TooLong", marks=WORDS
        ),
        ([{"name": "A"}], {}, "spec.devices[0].name", "Invalid"),
        pytest.param(many(1) * 2, {}, "spec.devices[1]", "Duplicate", marks=WORDS),
        ([{"name": "a", "taints": [TAINT] * 17}], {}, "spec.devices[0].taints", "TooMany"),
        pytest.param(
            [{"name": "a", "bindingConditions": ["x"]}],
            {},
            "spec.devices[0].bindingFailureConditions",
            "Invalid",
            marks=GATES,
        ),
        (
            [{"name": "a", "capacity": {"c": POLICY}}],
            {},
            "spec.devices[0].capacity[c].requestPolicy",
            "Forbidden",
        ),
        pytest.param(many(1), {"sharedCounters": sets(1)}, "spec", "Invalid", marks=GATES),
        pytest.param([], {"devices": None, "sharedCounters": sets(9)}, "spec.sharedCounters", "TooMany", marks=GATES),
        pytest.param(
            [],
            {"devices": None, "sharedCounters": sets(1, 33)},
            "spec.sharedCounters[0].counters",
            "TooMany",
            marks=GATES,
        ),
        ([], {"driver": "a_b"}, "spec.driver", "Invalid"),
        ([], {"nodeName": None}, "spec", "Required"),
        ([], {"allNodes": True}, "spec", "Invalid"),
        ([], {"pool": {"name": "a//c", "resourceSliceCount": 1}}, "spec.pool.name", "Invalid"),
        ([], {"pool": {"name": "a", "resourceSliceCount": 0}}, "spec.pool.resourceSliceCount", "Invalid"),
    ],
)
def test_what_breaks_a_rule_is_refused(
    server: Wire, driver: str, devices: list[JsonObject], spec: dict[str, Any], field: str, reason: str
) -> None:
    answer = publish(server, driver, devices, spec)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert [(cause["field"], cause["reason"]) for cause in answer.causes] == [(field, f"FieldValue{reason}")]


@pytest.mark.parametrize("change", [{"driver": "e.example.com"}, {"nodeName": "elsewhere"}])
def test_driver_and_node_of_a_slice_are_final(server: Wire, driver: str, change: dict[str, str]) -> None:
    made = server.make(SLICES, slice_of(driver, name=driver))
    made["spec"] |= change
    answer = server.ask("PUT", f"{SLICES}/{driver}", made)
    assert (answer.status, answer.wrong) == (422, [f"spec.{key}" for key in change])


def test_fields_of_a_gate_that_is_off_are_dropped_without_a_word(server: Wire, driver: str) -> None:
    made = server.make(SLICES, slice_of(driver, *many(1), skipNodeOperations=["Prepare"]))
    assert "skipNodeOperations" not in made["spec"]


def test_a_list_of_which_the_gate_is_off_leaves_an_attribute_without_a_value(server: Wire, driver: str) -> None:
    answer = publish(server, driver, with_attributes(x={"ints": [1]}), {})
    assert (answer.status, answer.wrong) == (422, ["spec.devices[0].attributes[x]"])


def test_a_taint_gets_the_time_at_which_it_was_added(server: Wire, driver: str) -> None:
    made = server.make(SLICES, slice_of(driver, {"name": "a", "taints": [TAINT]}, name=driver))
    time = made["spec"]["devices"][0]["taints"][0]["timeAdded"]
    assert time == made["metadata"]["creationTimestamp"]
    made["spec"]["devices"].append({"name": "b"})
    again = server.ask("PUT", f"{SLICES}/{driver}", made).body
    assert again["spec"]["devices"][0]["taints"][0]["timeAdded"] == time
