"""Pools of slices: whole ones, incomplete ones, outdated ones, invalid ones, and those of other nodes."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.worlds import devices
from tests.differential.worlds.devices import NODE, Json, Plan
from tests.differential.worlds.dice import Dice

LABELS = {"zone": "z1", "rack": "r7", "tier": "3"}


@dataclass(frozen=True)
class Shape:
    """How big pools are."""

    slices: tuple[int, int]
    devices: tuple[int, int]


def node(dice: Dice) -> Json:
    """Make the node that is asked about."""
    status: Json = {"declaredFeatures": ["DRAOptionalNodeOperations"]} if dice.chance(0.5) else {}
    return {"metadata": {"name": NODE, "labels": dict(LABELS)}, "status": status}


def make(dice: Dice, plan: Plan, pool: str, shape: Shape) -> list[Json]:
    """Make the slices of one pool, in any order."""
    generation = dice.number(0, 3)
    sets = _counter_sets(dice, plan)
    plan.counters = {entry["name"]: sorted(entry["counters"]) for entry in sets}
    specs = [_devices(dice, plan, shape, start) for start in range(dice.number(*shape.slices))]
    scope = _scope(dice)
    for spec in specs:
        spec.update(scope if dice.chance(0.85) else _scope(dice))
        if spec.get("perDeviceNodeSelection"):
            for device in spec["devices"]:
                device.update(_device_scope(dice, plan.odd))
    if sets:
        specs.append({"sharedCounters": sets} | (scope if dice.chance(0.7) else _scope(dice)))
    for spec in specs:
        spec["driver"] = plan.driver
        spec["pool"] = {"name": pool, "generation": generation, "resourceSliceCount": len(specs)}
    _spoil(dice, plan.odd, specs)
    prefix = dice.one(["s", "a", "z"])
    slices = [
        {"metadata": {"name": f"{prefix}{i}-{plan.driver}-{pool}".replace("/", "-")}, "spec": spec}
        for i, spec in enumerate(specs)
    ]
    return dice.shuffled(slices)


def _devices(dice: Dice, plan: Plan, shape: Shape, start: int) -> Json:
    count = dice.number(*shape.devices)
    spec: Json = {"devices": [devices.make(dice, plan, f"d{start}{i}") for i in range(count)]}
    if dice.chance(0.25 if "DRAOptionalNodeOperations" in plan.on else plan.odd):
        spec["skipNodeOperations"] = dice.one([["*"], ["NodePrepareResources", "NodeUnprepareResources"]])
    return spec


def _counter_sets(dice: Dice, plan: Plan) -> list[Json]:
    if not dice.chance(0.25):
        return []
    sets = []
    for i in range(dice.number(1, 2)):
        counters = {name: {"value": dice.one(["2", "4", "6", "8"])} for name in dice.some(["mem", "cpu", "io"], 1, 2)}
        sets.append({"name": f"set{i}", "counters": counters})
    if dice.chance(plan.odd * 0.2):
        sets.append(dict(sets[0]))
    return sets


def _scope(dice: Dice) -> Json:
    match dice.weighted({"node": 55.0, "all": 20.0, "selector": 12.0, "device": 9.0, "other": 4.0}):
        case "node":
            return {"nodeName": NODE}
        case "all":
            return {"allNodes": True}
        case "selector":
            return {"nodeSelector": selector(dice)}
        case "device":
            return {"perDeviceNodeSelection": True}
    return {"nodeName": "n2"}


def _device_scope(dice: Dice, odd: float) -> Json:
    found: Json = dice.one([{"nodeName": NODE}, {"nodeName": NODE}, {"allNodes": True}, {"nodeName": "n2"}, {}])
    if not found:
        found = {"nodeSelector": selector(dice)}
    if "nodeSelector" in found and dice.chance(odd):
        found["nodeSelector"] = {"nodeSelectorTerms": [*found["nodeSelector"]["nodeSelectorTerms"], _term(dice)]}
    return found


def selector(dice: Dice) -> Json:
    """Make a node selector of one term, which the node mostly matches."""
    return {"nodeSelectorTerms": [_term(dice)]}


def _term(dice: Dice) -> Json:
    fitting = [
        {"key": "zone", "operator": "In", "values": ["z1", "z2"]},
        {"key": "rack", "operator": "Exists"},
        {"key": "zone", "operator": "NotIn", "values": ["z9"]},
        {"key": "gone", "operator": "DoesNotExist"},
        {"key": "tier", "operator": "Gt", "values": ["2"]},
        {"key": "tier", "operator": "Lt", "values": ["4"]},
    ]
    foreign = [{"key": "zone", "operator": "In", "values": ["z9"]}, {"key": "tier", "operator": "Lt", "values": ["3"]}]
    term: Json = {"matchExpressions": dice.some(fitting, 1, 2)}
    if dice.chance(0.15):
        term["matchExpressions"].append(dice.one(foreign))
    if dice.chance(0.15):
        term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": [NODE]}]
    return term


def _spoil(dice: Dice, odd: float, specs: list[Json]) -> None:
    """Take something away that a pool needs, now and then."""
    if not dice.chance(odd):
        return
    holders = [spec for spec in specs if spec.get("devices")]
    match dice.number(0, 6):
        case 0:
            specs[0]["pool"] = specs[0]["pool"] | {"resourceSliceCount": len(specs) + 1}
        case 1 if len(specs) > 1:
            specs.pop(dice.number(0, len(specs) - 1))
        case 2 if len(specs) > 1:
            specs[-1]["pool"] = specs[-1]["pool"] | {"generation": specs[-1]["pool"]["generation"] + dice.one([-1, 1])}
        case 3 if len(holders) > 1:
            holders[0]["devices"][0]["name"] = holders[1]["devices"][0]["name"]
        case 4:
            newer = {
                "driver": specs[0]["driver"],
                "pool": specs[0]["pool"] | {"generation": 9},
                "devices": [],
                "nodeName": "n2",
            }
            specs.append(newer)
        case 5 if len(holders[0]["devices"]) > 1:
            holders[0]["devices"][0]["name"] = holders[0]["devices"][1]["name"]
        case _:
            for spec in specs:
                spec["pool"] = spec["pool"] | {"generation": max(0, spec["pool"]["generation"] - 1)}
