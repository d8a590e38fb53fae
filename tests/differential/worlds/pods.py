"""Worlds of a pod that is to be put on a node, with claims whose devices count as resources of the node."""

from __future__ import annotations

from dataclasses import replace

from tests.differential.worlds import allocate, gates
from tests.differential.worlds.devices import NODE, Json
from tests.differential.worlds.dice import Dice
from tests.differential.worlds.gates import Gates

_GATE = "DRANodeAllocatableResources"
_RESOURCES = ["cpu", "memory", "hugepages-2Mi"]
_AMOUNTS = {
    "cpu": ["100m", "250m", "500m", "1", "1500m", "2"],
    "memory": ["64Mi", "100M", "256Mi", "500Mi", "1Gi"],
    "hugepages-2Mi": ["2Mi", "4Mi", "64Mi"],
}


def make(dice: Dice, size: str) -> Json:
    """Make one question of kind ``podAllocatable``."""
    chosen = gates.draw(dice)
    if dice.chance(0.85):
        chosen = Gates({gate: gate in chosen.on or gate == _GATE for gate in gates.every().on}, chosen.on | {_GATE})
    base = allocate.SIZES[size]
    world = allocate.scene(
        dice, replace(base, claims=2, requests=min(base.requests, 2), odd=base.odd / 2, ways=5_000), chosen
    )
    for one in world["slices"]:
        for device in one["spec"].get("devices") or ():
            if dice.chance(0.6):
                device["nodeAllocatableResources"] = _allocatable(dice, device)
    held = _shared(dice, world["allocatedClaims"]) if dice.chance(0.5) else []
    waiting = world["claims"]
    pod = _pod(dice, [*waiting, *held])
    world["node"]["status"] = world["node"].get("status", {}) | {"allocatable": _node(dice), "capacity": _node(dice)}
    classes = world["classes"]
    if dice.chance(0.15):
        _extended(dice, pod, classes)
    return world | {"gates": chosen.value, "pod": pod, "pods": [_other(dice, i) for i in range(dice.number(0, 2))]}


def _node(dice: Dice) -> Json:
    return {
        "cpu": dice.one(["4", "8", "16"]),
        "memory": dice.one(["8Gi", "16Gi"]),
        "hugepages-2Mi": dice.one(["0", "512Mi", "1Gi"]),
        "pods": "110",
    }


def _allocatable(dice: Dice, device: Json) -> Json:
    found: Json = {}
    for name in dice.some(_RESOURCES, 1, 2):
        entry: Json = {}
        if dice.chance(0.6):
            entry["mapping"] = _mapping(dice, name, device)
        if not entry or dice.chance(0.5):
            members = dice.some(["perPod", "perContainer"], 1, 2)
            entry["overhead"] = {member: dice.one(_AMOUNTS[name]) for member in members}
        found[name] = entry
    return found


def _mapping(dice: Dice, name: str, device: Json) -> Json:
    keys = sorted(device.get("capacity", {}))
    if keys and (device.get("allowMultipleAllocations") or dice.chance(0.05)):
        return {"capacityKey": dice.one(keys), "capacityMultiplier": dice.one(["1", "2", "500m", "1.5", "0.001"])}
    return {"deviceMultiplier": dice.one(_AMOUNTS[name])}


def _shared(dice: Dice, claims: list[Json]) -> list[Json]:
    """Give claims that have devices already to the pod; some of them are used by others, too."""
    found = dice.some(claims, 0, 2)
    for claim in found:
        claim["metadata"]["namespace"] = "ns"
        others = [{"resource": "pods", "name": f"other-{i}", "uid": f"uid-other-{i}"} for i in range(dice.number(0, 1))]
        if dice.chance(0.3):
            others.append({"resource": "pods", "name": "pod", "uid": "uid-pod"})
        claim["status"]["reservedFor"] = others
        if dice.chance(0.4):
            name = dice.one([NODE, NODE, "n2"])
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
            claim["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [term]}
    return found


def _pod(dice: Dice, claims: list[Json]) -> Json:
    named = [{"name": f"x{i}", "resourceClaimName": one["metadata"]["name"]} for i, one in enumerate(claims)]
    if dice.chance(0.03):
        named.append({"name": "gone", "resourceClaimName": "gone"})
    names = [one["name"] for one in named]
    spec: Json = {
        "resourceClaims": named,
        "containers": [_container(dice, f"c{i}", names) for i in range(dice.number(1, 3))],
    }
    if dice.chance(0.3):
        spec["initContainers"] = [_container(dice, f"i{i}", names) for i in range(dice.number(1, 2))]
        if dice.chance(0.4):
            spec["initContainers"][0]["restartPolicy"] = "Always"
    if dice.chance(0.2):
        spec["overhead"] = {"cpu": "10m", "memory": "1Mi"}
    if dice.chance(0.25):
        spec["resources"] = _level(dice)
    return {"metadata": {"name": "pod", "namespace": "ns", "uid": "uid-pod"}, "spec": spec}


def _container(dice: Dice, name: str, claims: list[str]) -> Json:
    asked = {one: dice.one(_AMOUNTS[one]) for one in dice.some(_RESOURCES, 0, 2)}
    resources: Json = {"requests": asked}
    if dice.chance(0.5) or "hugepages-2Mi" in asked:
        resources["limits"] = dict(asked)
        if dice.chance(0.4) and "cpu" in asked:
            resources["limits"]["cpu"] = "3"
    used: list[Json] = [{"name": one} for one in dice.some(claims, 0, len(claims))]
    if used and dice.chance(0.2):
        used = [used[0] | {"request": "r0"}, used[0] | {"request": "r1"}, *used[1:]]
    resources["claims"] = used
    return {"name": name, "resources": resources}


def _level(dice: Dice) -> Json:
    """Make resources of the pod as a whole."""
    asked = {
        one: dice.one(["4", "6", "2"]) if one == "cpu" else dice.one(["128Mi", "2Gi", "4Gi"])
        for one in dice.some(_RESOURCES, 1, 3)
    }
    found: Json = {"requests": asked}
    if dice.chance(0.6):
        found["limits"] = dict(asked)
    return found


def _other(dice: Dice, number: int) -> Json:
    container = _container(dice, "c", [])
    pod: Json = {
        "metadata": {"name": f"other-{number}", "namespace": "ns", "uid": f"uid-other-{number}"},
        "spec": {"nodeName": NODE, "containers": [container]},
    }
    if dice.chance(0.4):
        entry: Json = {"resourceClaimName": "old", "containers": ["c"]}
        entry["mapping"] = [{"name": "cpu", "quantity": dice.one(_AMOUNTS["cpu"])}]
        if dice.chance(0.5):
            entry["overhead"] = [{"name": "memory", "perPod": "64Mi", "perContainer": "32Mi"}]
        pod["status"] = {"nodeAllocatableResourceClaimStatuses": [entry]}
    return pod


def _extended(dice: Dice, pod: Json, classes: list[Json]) -> None:
    """Ask for a device as an extended resource."""
    name = (
        "example.com/device"
        if dice.chance(0.5)
        else f"deviceclass.resource.kubernetes.io/{classes[0]['metadata']['name']}"
    )
    if name == "example.com/device":
        classes[0]["spec"]["extendedResourceName"] = name
    resources = pod["spec"]["containers"][0]["resources"]
    for member in ("requests", "limits"):
        resources.setdefault(member, {})[name] = dice.one(["1", "1", "2"])
