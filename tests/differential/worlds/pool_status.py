"""Worlds of pools about whose status somebody asks."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from tests.differential.worlds import devices, gates, held, pools
from tests.differential.worlds.devices import Json, Plan
from tests.differential.worlds.dice import Dice
from tests.differential.worlds.pools import Shape

_DRIVER = "driver-a"
_PROFILE = f"{_DRIVER}/profile"

SIZES = {
    "small": (1, Shape((1, 1), (1, 4))),
    "mixed": (4, Shape((1, 3), (1, 6))),
    "hard": (7, Shape((1, 4), (4, 12))),
}


@dataclass(frozen=True)
class _Partitions:
    """Kinds of partitions: what each takes of the pool's counters."""

    costs: list[list[Json]]
    attribute: str | None


def make(dice: Dice, size: str) -> Json:
    """Make one question of kind ``poolstatus``."""
    most, shape = SIZES[size]
    chosen = gates.draw(dice)
    slices = []
    for i in range(dice.number(1, most)):
        slices += _pool(dice, chosen.on, shape, i)
    slices = dice.shuffled(slices)
    claims = held.claims(dice, slices, dice.one([0.0, 0.2, 0.6]), 0.1)
    return {
        "gates": chosen.value,
        "slices": slices,
        "claims": [*claims, *_waiting(dice)],
        "taintRules": [_rule(dice, i) for i in range(dice.weighted({0: 6.0, 1: 3.0, 2: 1.0}))],
        "request": {"metadata": {"name": "question"}, "spec": _request(dice)},
    }


def _pool(dice: Dice, on: frozenset[str], shape: Shape, number: int) -> list[Json]:
    driver = _DRIVER if dice.chance(0.85) else "driver-b.example.com"
    plan = Plan(
        driver=driver,
        on=on,
        odd=0.06,
        shareable=dice.one([0.0, 0.2, 0.8]),
        tainted=dice.one([0.0, 0.1, 0.4]),
    )
    slices = pools.make(dice, plan, dice.one([f"p{number}", f"pool-{number}", f"rack/p{number}"]), shape)
    if plan.counters and dice.chance(0.8):
        _partition(dice, slices, plan)
    if dice.chance(0.03):
        _many(dice, slices, plan.counters)
    if dice.chance(0.06):
        slices.append(deepcopy(slices[0]) | {"metadata": {"name": f"again-{number}"}})
    return slices


def _partition(dice: Dice, slices: list[Json], plan: Plan) -> None:
    """Give devices a type that says what they take."""
    name = sorted(plan.counters)[0]
    costs = [
        [{"counterSet": name, "counters": {one: {"value": dice.one(["1", "2", "1Gi"])} for one in plan.counters[name]}}]
        for _ in range(dice.number(1, 3))
    ]
    partitions = _Partitions(costs, _PROFILE if dice.chance(0.75) else None)
    for one in slices:
        for device in one["spec"].get("devices") or ():
            if "consumesCounters" in device or dice.chance(0.2):
                _type(dice, device, partitions)
        if partitions.attribute and one["spec"].get("devices") is not None and dice.chance(0.95):
            one["spec"]["partitionTypeAttribute"] = partitions.attribute


def _type(dice: Dice, device: Json, partitions: _Partitions) -> None:
    number = dice.number(0, len(partitions.costs) - 1)
    if "consumesCounters" in device:
        device["consumesCounters"] = deepcopy(partitions.costs[number])
        if dice.chance(0.03):
            for counter in device["consumesCounters"][0]["counters"].values():
                counter["value"] = dice.one(["1000m", "1024Mi", "1073741824", "2"])
    if not dice.chance(0.02):
        key = dice.weighted({"profile": 8.0, _PROFILE: 2.0})
        device["attributes"][key] = {"string": f"type-{number}"} if not dice.chance(0.02) else {"int": number}


def _many(dice: Dice, slices: list[Json], counters: dict[str, list[str]]) -> None:
    """Go over a limit of the summaries: 33 types, or 33 kinds of capacity."""
    number = dice.one([32, 33])
    spec = next((one["spec"] for one in slices if one["spec"].get("devices")), None)
    if spec is None:
        return
    if counters and dice.chance(0.5):
        name = sorted(counters)[0]
        cost = [{"counterSet": name, "counters": {counters[name][0]: {"value": "1"}}}]
        spec["partitionTypeAttribute"] = _PROFILE
        spec["devices"] = [
            {"name": f"t{i}", "attributes": {"profile": {"string": f"t{i}"}}, "consumesCounters": cost}
            for i in range(number)
        ]
    else:
        capacity = {f"c{i}": {"value": f"{i}"} for i in range(number)}
        spec["devices"].append({"name": "wide", "allowMultipleAllocations": True, "capacity": capacity})


def _waiting(dice: Dice) -> list[Json]:
    return [{"metadata": {"name": f"waits-{i}", "namespace": "ns"}, "spec": {}} for i in range(dice.number(0, 2))]


def _request(dice: Dice) -> Json:
    spec: Json = {"driver": dice.weighted({_DRIVER: 92.0, "driver-b.example.com": 6.0, "none.example.com": 2.0})}
    if dice.chance(0.15):
        spec["poolName"] = dice.one(["p0", "p1", "rack/p0", "none"])
    if dice.chance(0.25):
        spec["limit"] = dice.number(1, 3)
    if dice.chance(0.25):
        spec["defaultPartitionTypeAttribute"] = dice.one([_PROFILE, _PROFILE, f"{_DRIVER}/kind", "other.example.com/x"])
    return spec


def _rule(dice: Dice, number: int) -> Json:
    spec: Json = {"taint": devices.taint(dice)}
    if not dice.chance(0.1):
        spec["deviceSelector"] = {
            member: dice.one(values)
            for member, values in (("driver", [_DRIVER]), ("pool", ["p0", "p1"]), ("device", ["d00", "d01", "d10"]))
            if dice.chance(0.5)
        }
    return {"metadata": {"name": f"rule{number}"}, "spec": spec}
