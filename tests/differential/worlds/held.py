"""Claims that have their devices already."""

from __future__ import annotations

import uuid

from tests.differential.worlds.devices import Json
from tests.differential.worlds.dice import Dice


def claims(dice: Dice, slices: list[Json], share: float, odd: float) -> list[Json]:
    """Make claims that hold about this share of the devices."""
    results: list[Json] = []
    for one in slices:
        for device in one["spec"].get("devices") or ():
            shared = device.get("allowMultipleAllocations") and not dice.chance(odd)
            times = dice.number(1, 2) if shared and dice.chance(0.4) else int(dice.chance(share))
            results += [_result(dice, one["spec"], device, bool(shared), odd) for _ in range(times)]
    if dice.chance(odd):
        results.append({"request": "r", "driver": "driver-a", "pool": "p0", "device": "gone"})
    found: list[Json] = []
    for i, result in enumerate(results):
        if found and dice.chance(0.3):
            found[-1]["status"]["allocation"]["devices"]["results"].append(result)
        else:
            found.append(_claim(i, result))
    return dice.shuffled(found)


def _claim(number: int, result: Json) -> Json:
    return {
        "metadata": {"name": f"held-{number}", "namespace": "other", "uid": f"uid-held-{number}"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "anything"}}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def _result(dice: Dice, spec: Json, device: Json, shared: bool, odd: float) -> Json:
    found: Json = {"request": "r", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
    if dice.chance(0.08):
        found["adminAccess"] = True
    if shared:
        found["shareID"] = str(uuid.UUID(int=dice.number(0, 1 << 120), version=4))
        amounts = {name: dice.one(["1", "1Gi", "500m", "512Mi"]) for name in device.get("capacity", {})}
        for name in amounts:
            if name == "mem":
                amounts[name] = dice.one(["1Gi", "512Mi", "2Gi"])
        if amounts and not dice.chance(odd):
            found["consumedCapacity"] = amounts
    return found
