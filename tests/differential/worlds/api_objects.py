"""Objects of resource.k8s.io that an API server accepts, in their v1 shape, with many fields set."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from tests.differential.worlds import devices, pools, requests
from tests.differential.worlds.devices import Json, Plan
from tests.differential.worlds.dice import Dice
from tests.differential.worlds.pools import Shape
from tests.differential.worlds.requests import Wish

DRIVER = "dra.example.com"
_GROUP = "resource.k8s.io/v1"


def slices(dice: Dice, on: frozenset[str]) -> Json:
    """Make a slice with devices, or one with counters."""
    plan = Plan(driver=DRIVER, on=on, odd=0.0, shareable=0.3, tainted=0.2, binding=dice.chance(0.3))
    made = dice.one(pools.make(dice, plan, dice.one(["p0", "rack/p0", "a.b/c"]), Shape((1, 2), (1, 3))))
    for device in made["spec"].get("devices") or ():
        if dice.chance(0.3):
            device["nodeAllocatableResources"] = _allocatable(dice, device)
        if dice.chance(0.3):
            device["attributes"]["profile"] = {"string": "half"}
    consumers = [one for one in made["spec"].get("devices") or () if "consumesCounters" in one]
    if consumers and dice.chance(0.3):
        made["spec"]["partitionTypeAttribute"] = f"{DRIVER}/profile"
        for one in consumers:
            one["attributes"]["profile"] = {"string": "half"}
    return {"apiVersion": _GROUP, "kind": "ResourceSlice"} | made


def _allocatable(dice: Dice, device: Json) -> Json:
    entry: Json = {"overhead": {"perPod": "1Mi", "perContainer": "2Mi"}} if dice.chance(0.6) else {}
    keys = sorted(device.get("capacity", {}))
    if keys and dice.chance(0.5):
        entry["mapping"] = {"capacityKey": dice.one(keys), "capacityMultiplier": "1500m"}
    elif not entry or dice.chance(0.5):
        entry["mapping"] = {"deviceMultiplier": "2"}
    return {dice.one(["cpu", "memory", "hugepages-2Mi"]): entry}


def claim(dice: Dice, on: frozenset[str]) -> Json:
    """Make a claim without status."""
    wish = Wish((DRIVER,), on, odd=0.0, count=3, requests=3, picky=0.5)
    made = requests.claim(dice, wish, "claim")
    made["spec"]["devices"]["requests"] = [_tidy(one) for one in made["spec"]["devices"]["requests"]]
    made["metadata"].pop("uid")
    return {"apiVersion": _GROUP, "kind": "ResourceClaim"} | made


def _tidy(request: Json) -> Json:
    """Leave out of a request what suits a scheduler but no API server."""
    for one in [request.get("exactly"), *request.get("firstAvailable", ())]:
        for selector in (one or {}).get("selectors", ()):
            if not selector:
                selector["cel"] = {"expression": "true"}
        for toleration in (one or {}).get("tolerations", ()):
            if toleration.get("operator") == "Exists":
                toleration.pop("value", None)
    return request


def template(dice: Dice, on: frozenset[str]) -> Json:
    """Make a template of claims."""
    inner = {"metadata": {"labels": {"app": "x"}}, "spec": claim(dice, on)["spec"]}
    return {
        "apiVersion": _GROUP,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "template", "namespace": "ns"},
        "spec": inner,
    }


def device_class(dice: Dice, _on: frozenset[str]) -> Json:
    """Make a class."""
    made = requests.device_class(dice, "class", DRIVER)
    if dice.chance(0.4):
        made["spec"]["extendedResourceName"] = dice.one(["example.com/gpu", "dra.example.com/nic"])
    return {"apiVersion": _GROUP, "kind": "DeviceClass"} | made


def taint_rule(dice: Dice, _on: frozenset[str]) -> Json:
    """Make a rule that taints devices."""
    spec: Json = {"taint": devices.taint(dice)}
    if dice.chance(0.7):
        known = {"driver": DRIVER, "pool": "p0", "device": "d0"}
        spec["deviceSelector"] = {key: known[key] for key in dice.some(sorted(known), 0, 3)}
    return {"apiVersion": _GROUP, "kind": "DeviceTaintRule", "metadata": {"name": "rule"}, "spec": spec}


def pool_request(dice: Dice, _on: frozenset[str]) -> Json:
    """Make a question about pools."""
    spec: Json = {"driver": DRIVER}
    if dice.chance(0.5):
        spec["poolName"] = dice.one(["p0", "rack/p0"])
    if dice.chance(0.5):
        spec["limit"] = dice.one([1, 100, 1000])
    if dice.chance(0.4):
        spec["defaultPartitionTypeAttribute"] = f"{DRIVER}/profile"
    return {
        "apiVersion": "resource.k8s.io/v1alpha3",
        "kind": "ResourcePoolStatusRequest",
        "metadata": {"name": "question"},
        "spec": spec,
    }


MAKERS: dict[str, Callable[[Dice, frozenset[str]], Json]] = {
    "ResourceSlice": slices,
    "ResourceClaim": claim,
    "ResourceClaimTemplate": template,
    "DeviceClass": device_class,
    "DeviceTaintRule": taint_rule,
    "ResourcePoolStatusRequest": pool_request,
}


def claim_status(dice: Dice, waiting: Json) -> Json:
    """Give a claim a status with an allocation, users and what its devices report."""
    found = deepcopy(waiting)
    asked = found["spec"]["devices"]["requests"]
    names = [
        f"{one['name']}/{one['firstAvailable'][0]['name']}" if "firstAvailable" in one else one["name"] for one in asked
    ]
    results = [
        {"request": name, "driver": DRIVER, "pool": "p0", "device": f"d{i}"} | _extras(dice)
        for i, name in enumerate(names)
    ]
    allocation: Json = {"devices": {"results": results}}
    if dice.chance(0.5):
        config = {"source": "FromClass", "requests": names[:1], "opaque": {"driver": DRIVER, "parameters": {"a": 1}}}
        allocation["devices"]["config"] = [config]
    if dice.chance(0.5):
        allocation["nodeSelector"] = pools.selector(dice)
    status: Json = {"allocation": allocation}
    if dice.chance(0.6):
        status["reservedFor"] = [
            {"resource": "pods", "name": f"pod-{i}", "uid": f"uid-{i}"} for i in range(dice.number(1, 2))
        ]
    if dice.chance(0.6):
        status["devices"] = [_report(dice, one) for one in results]
    found["status"] = status
    return found


def _extras(dice: Dice) -> Json:
    found: Json = {}
    if dice.chance(0.3):
        found["shareID"] = "6f1c9ad0-2b0a-4c57-9d32-0a1b2c3d4e5f"
        found["consumedCapacity"] = {"mem": "1Gi"}
    if dice.chance(0.2):
        found["bindingConditions"], found["bindingFailureConditions"] = ["a.example.com/ok"], ["a.example.com/bad"]
    if dice.chance(0.2):
        found["tolerations"] = [{"key": "k", "operator": "Exists"}]
    return found


def _report(dice: Dice, result: Json) -> Json:
    found: Json = {key: result[key] for key in ("driver", "pool", "device")}
    if "shareID" in result:
        found["shareID"] = result["shareID"]
    found["conditions"] = [_condition("Ready", "Fine")]
    if dice.chance(0.5):
        found["data"] = {"x": [1, 2]}
    if dice.chance(0.6):
        found["networkData"] = {
            "interfaceName": "eth1",
            "ips": ["10.0.0.1/24", "2001:db8::1/64"][: dice.number(1, 2)],
            "hardwareAddress": "02:00:00:00:00:01",
        }
    return found


def _condition(name: str, reason: str) -> Json:
    moment = "2024-01-01T00:00:00Z"
    return {"type": name, "status": "True", "reason": reason, "message": "", "lastTransitionTime": moment}


def rule_status(_dice: Dice, rule: Json) -> Json:
    """Give a rule a status."""
    moment = "2024-01-01T00:00:00Z"
    condition = {
        "type": "EvictionInProgress",
        "status": "False",
        "reason": "Done",
        "message": "",
        "lastTransitionTime": moment,
    }
    return deepcopy(rule) | {"status": {"conditions": [condition]}}


def pool_answer(dice: Dice, request: Json) -> Json:
    """Give a question about pools its answer."""
    pool: Json = {"driver": DRIVER, "poolName": "p0", "generation": 1, "resourceSliceCount": 1, "nodeName": "n1"}
    pool |= {"totalDevices": 4, "allocatedDevices": 1, "availableDevices": 3, "unavailableDevices": 0}
    if dice.chance(0.4):
        pool["partitionSummary"] = [{"attribute": f"{DRIVER}/profile", "type": "half", "total": 2, "allocatable": 1}]
    if dice.chance(0.4):
        capacity = [{"name": "mem", "total": "4Gi", "consumed": "1Gi", "available": "3Gi"}]
        pool["shareableSummary"] = {"fullyAvailableDevices": 1, "partiallyAvailableDevices": 0, "capacity": capacity}
    moment = "2024-01-01T00:00:00Z"
    condition = {
        "type": "Complete",
        "status": "True",
        "reason": "CalculationComplete",
        "message": "",
        "lastTransitionTime": moment,
    }
    return deepcopy(request) | {"status": {"poolCount": 1, "pools": [pool], "conditions": [condition]}}


STATUS: dict[str, Callable[[Dice, Json], Json]] = {
    "ResourceClaim": claim_status,
    "DeviceTaintRule": rule_status,
    "ResourcePoolStatusRequest": pool_answer,
}
