"""Devices: attributes, capacities, taints, counters and the rest of what a driver publishes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.differential.worlds.dice import Dice

Json = dict[str, Any]

FOREIGN = "shared.example.com"
VERSIONS = ["1.0.0", "1.2.0", "1.10.0", "2.0.0-rc.1", "2.0.0", "1.0.0+build"]
ZONES = ["a", "b", "c", "d"]
NODE = "n1"
SIZES = ["1Gi", "2Gi", "4Gi", "8Gi", "4096Mi", "6442450944"]


@dataclass
class Plan:
    """What the devices of one pool are like. ``counters``: sets of the pool with their counters."""

    driver: str
    on: frozenset[str]
    odd: float
    """How often something is out of the ordinary."""
    counters: dict[str, list[str]] = field(default_factory=dict)
    shareable: float = 0.2
    tainted: float = 0.15
    binding: bool = False
    kinds: int = 3
    numas: int = 3


def make(dice: Dice, plan: Plan, name: str) -> Json:
    """Make one device."""
    device: Json = {"name": name, "attributes": _attributes(dice, plan)}
    shareable = dice.chance(plan.shareable)
    if shareable:
        device["allowMultipleAllocations"] = True
    elif dice.chance(0.05):
        device["allowMultipleAllocations"] = False
    if dice.chance(0.75 if shareable else 0.6):
        device["capacity"] = _capacities(dice, plan, shareable)
    if plan.counters and dice.chance(0.85):
        device["consumesCounters"] = _consumption(dice, plan)
    if dice.chance(plan.tainted):
        device["taints"] = [taint(dice) for _ in range(dice.number(1, 2))]
    if plan.binding and dice.chance(0.5):
        device["bindingConditions"] = ["ready.example.com/attached"]
        device["bindingFailureConditions"] = ["ready.example.com/failed"]
    if dice.chance(0.06):
        device["bindsToNode"] = dice.chance(0.8)
    return device


def taint(dice: Dice) -> Json:
    """Make a taint of a device."""
    found = {
        "key": dice.one(["broken", "old"]),
        "effect": dice.weighted({"NoSchedule": 5.0, "NoExecute": 3.0, "None": 2.0}),
    }
    if dice.chance(0.5):
        found["value"] = dice.one(["x", "y"])
    return found


def _attributes(dice: Dice, plan: Plan) -> Json:
    numa = {"int": dice.number(0, plan.numas - 1)}
    found: Json = {
        "kind": {"string": "XYZ"[dice.number(0, plan.kinds - 1)]},
        "numa" if dice.chance(0.9) else f"{plan.driver}/numa": numa,
        "version": {"version": dice.one(VERSIONS)},
    }
    if dice.chance(0.6):
        found["fast"] = {"bool": dice.chance(0.5)}
    if dice.chance(0.7):
        found[f"{FOREIGN}/root"] = {"string": f"pci{dice.number(0, 2)}"}
    if dice.chance(0.5):
        found["label"] = {"string": f"group-{dice.number(0, 2)}"}
    if dice.chance(0.6 if "DRAListTypeAttributes" in plan.on else plan.odd):
        found["zones"] = {"strings": dice.some(ZONES, 1, 3)} if dice.chance(0.8) else {"string": dice.one(ZONES)}
        found["lanes"] = {"ints": sorted(dice.some([0, 1, 2, 3, 4], 1, 3))}
    if dice.chance(plan.odd * 0.1):
        found["odd"] = dice.one([{}, {"version": "not-semver"}, {"strings": []}])
    if dice.chance(plan.odd):
        found[dice.one([name for name in found if name.endswith(("numa", "kind"))])] = {"string": "1"}
    if dice.chance(0.1):
        # For constraints only: which of two spellings a selector sees is left to the order of a map.
        found |= {name: {"int": dice.number(0, 1)} for name in dice.some(["slot", f"{plan.driver}/slot"], 1, 2)}
    return found


def _capacities(dice: Dice, plan: Plan, shareable: bool) -> Json:
    found: Json = {"mem": {"value": dice.one(SIZES)}}
    if dice.chance(0.5):
        found["cores"] = {"value": dice.one(["2", "4", "8", "2500m", "16"])}
    if dice.chance(0.2):
        found[f"{FOREIGN}/bandwidth"] = {"value": dice.one(["10G", "25G", "100G"])}
    for name, capacity in found.items():
        if shareable and dice.chance(0.5):
            capacity["requestPolicy"] = policy(dice, name, plan.odd)
    return found


def policy(dice: Dice, name: str, odd: float) -> Json:
    """Make a request policy that suits the capacity's size."""
    unit = {"mem": "Gi", "cores": ""}.get(name, "G")
    match dice.number(0, 5):
        case 0:
            return {"default": f"1{unit}"}
        case 1:
            return {"default": f"1{unit}", "validValues": [f"{n}{unit}" for n in (1, 2, 4)]}
        case 2 if not unit:
            return {"default": "1", "validRange": {"min": "500m", "max": "2", "step": "250m"}}
        case 3:
            return {} if dice.chance(odd * 3) else {"default": f"1{unit}", "validRange": {"min": f"1{unit}"}}
        case _:
            found: Json = {"min": f"1{unit}", "step": f"1{unit}"}
            if dice.chance(0.5):
                found["max"] = f"2{unit}"
            return {"default": f"1{unit}", "validRange": found}


def _consumption(dice: Dice, plan: Plan) -> list[Json]:
    found = []
    for name in dice.some(sorted(plan.counters), 1, min(2, len(plan.counters))):
        counters = dice.some(plan.counters[name], 1, len(plan.counters[name]))
        entry: Json = {
            "counterSet": name if not dice.chance(plan.odd * 0.2) else "missing",
            "counters": {counter: {"value": dice.one(["1", "2", "2", "3", "4"])} for counter in counters},
        }
        if dice.chance(plan.odd * 0.1):
            entry["counters"]["unknown"] = {"value": "1"}
        if dice.chance(0.5 if "DRADeviceCompatibilityGroups" in plan.on else plan.odd * 0.3):
            entry["compatibilityGroups"] = dice.some(["g1", "g2", "g3"], 1, 2)
        found.append(entry)
    return found
