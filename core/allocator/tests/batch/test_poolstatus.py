"""Kinds ``poolstatus`` and ``bench`` of the batch interface."""

import json
from typing import Any

from dragoman_allocator.batch.loop import answer

SLICE = {
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n1",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d1"}, {"name": "d2", "allowMultipleAllocations": True, "capacity": {"bw": {"value": 4}}}],
    }
}
CLAIM = {
    "status": {"allocation": {"devices": {"results": [{"driver": "gpu.example.com", "pool": "p", "device": "d1"}]}}}
}
REQUEST = {"spec": {"driver": "gpu.example.com"}}


def ask(**members: Any) -> Any:
    line = {"id": 7, "kind": "poolstatus", "slices": [SLICE], "claims": [CLAIM], "request": REQUEST} | members
    return json.loads(answer(json.dumps(line).encode()))


def test_the_status_has_the_members_of_the_api_and_no_others() -> None:
    summary = {
        "fullyAvailableDevices": 1,
        "partiallyAvailableDevices": 0,
        "capacity": [{"name": "bw", "total": "4", "consumed": "0", "available": "4"}],
    }
    pool = {
        "driver": "gpu.example.com",
        "poolName": "p",
        "generation": 1,
        "resourceSliceCount": 1,
        "totalDevices": 2,
        "allocatedDevices": 1,
        "availableDevices": 1,
        "unavailableDevices": 0,
        "nodeName": "n1",
        "shareableSummary": summary,
    }
    condition = {
        "type": "Complete",
        "status": "True",
        "lastTransitionTime": "2000-01-01T00:00:00Z",
        "reason": "CalculationComplete",
        "message": "Calculated status for 1 pools",
    }

    assert ask() == {"id": 7, "status": {"poolCount": 1, "pools": [pool], "conditions": [condition]}}


def test_an_incomplete_pool_has_no_status_and_an_error() -> None:
    missing = {"spec": SLICE["spec"] | {"pool": {"name": "p", "generation": 1, "resourceSliceCount": 2}}}

    said = "PoolIncomplete: pool gpu.example.com/p is incomplete: observed 1/2 slices at generation 1"
    assert ask(slices=[missing]) == {"id": 7, "status": None, "error": said}
    assert ask(slices=[missing], kind="bench", bench="poolstatus")["error"] == f"input: nothing can be measured: {said}"


def test_an_answered_request_keeps_its_status() -> None:
    assert ask(request=REQUEST | {"status": {"poolCount": 3}})["status"] == {"poolCount": 3}


def test_gates_decide_about_rules() -> None:
    rule = {"spec": {"deviceSelector": {}, "taint": {"key": "k", "effect": "NoSchedule"}}}

    def unavailable(gates: dict[str, bool]) -> int:
        found: int = ask(taintRules=[rule], gates=gates)["status"]["pools"][0]["unavailableDevices"]
        return found

    assert (unavailable({}), unavailable({"DRADeviceTaintRules": False})) == (2, 0)


def test_objects_of_another_shape_are_a_bad_line() -> None:
    assert str(ask(slices=[{"spec": 1}])["error"]).startswith("input: slices[0].spec: ")
    assert str(ask(gates={"Nonsense": True})["error"]).startswith("input: ")


def test_the_bench_says_how_long_and_how_many() -> None:
    said = ask(kind="bench", bench="poolstatus")

    assert said.pop("elapsedMs") > 0
    assert said == {"id": 7, "poolCount": 1, "devices": 2, "allocated": 1}


def test_another_bench_is_refused() -> None:
    assert ask(kind="bench", bench="x")["error"].startswith("input: bench 'x' is not one of ")


def test_null_is_the_zero_value_in_lean_objects_too() -> None:
    device = {"name": "d2", "allowMultipleAllocations": True, "capacity": {"bw": None}, "attributes": {"a": None}}
    spec = SLICE["spec"] | {"devices": [device, None], "sharedCounters": None}
    status = ask(slices=[{"spec": spec}], claims=[CLAIM, {"status": None}], taintRules=[{"metadata": None}])["status"]
    zero = ask(slices=[{"spec": spec | {"devices": [device | {"capacity": {"bw": {"value": "0"}}}, {"name": ""}]}}])
    assert status == zero["status"]
    assert status["pools"][0]["totalDevices"] == 2


def test_a_partition_type_that_is_null_is_one_that_is_missing() -> None:
    device = {
        "name": "d1",
        "attributes": {"kind": None},
        "consumesCounters": [{"counterSet": "s", "counters": {"c": None}}],
    }
    sets = {"spec": SLICE["spec"] | {"devices": None, "sharedCounters": [{"name": "s", "counters": {"c": None}}]}}
    sets["spec"]["pool"] = {"name": "p", "generation": 1, "resourceSliceCount": 2}
    devices = {
        "spec": sets["spec"]
        | {"devices": [device], "sharedCounters": None, "partitionTypeAttribute": "gpu.example.com/kind"}
    }
    (pool,) = ask(slices=[sets, devices], claims=[])["status"]["pools"]
    assert "does not carry partition type attribute" in pool["validationError"]
