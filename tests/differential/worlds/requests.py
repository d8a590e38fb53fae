"""Claims that wait, their requests, and the classes that these name."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.worlds import constraints, expressions
from tests.differential.worlds.devices import FOREIGN, Json
from tests.differential.worlds.dice import Dice


@dataclass(frozen=True)
class Wish:
    """What a world's claims are like."""

    drivers: tuple[str, ...]
    on: frozenset[str]
    odd: float
    count: int
    """The most devices for one request."""
    requests: int
    picky: float
    """How often a request has a selector of its own."""


def claim(dice: Dice, wish: Wish, name: str) -> Json:
    """Make a claim that waits for its allocation."""
    driver = dice.one(wish.drivers)
    number = max(dice.number(1, wish.requests), dice.number(1, wish.requests))
    requests = [_request(dice, wish, driver, f"r{i}") for i in range(number)]
    spec: Json = {"requests": requests}
    if tied := constraints.tie(dice, driver, wish.on, wish.odd, requests):
        spec["constraints"] = tied
    if dice.chance(0.2):
        spec["config"] = [_config(dice, wish, requests) for _ in range(dice.number(1, 2))]
    return {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"}, "spec": {"devices": spec}}


def _request(dice: Dice, wish: Wish, usual: str, name: str) -> Json:
    driver = usual if dice.chance(0.8) else dice.one(wish.drivers)
    admin = dice.chance(0.06)
    first = "DRAPrioritizedList" in wish.on or dice.chance(wish.odd)
    if first and not admin and dice.chance(0.25):
        alternatives = [{"name": f"s{i}"} | _wanted(dice, wish, driver) for i in range(dice.number(2, 3))]
        return {"name": name, "firstAvailable": alternatives}
    exactly = _wanted(dice, wish, driver)
    if admin and ("DRAAdminAccess" in wish.on or dice.chance(wish.odd)):
        exactly["adminAccess"] = dice.chance(0.9)
    return {"name": name, "exactly": exactly}


def _wanted(dice: Dice, wish: Wish, driver: str) -> Json:
    classes = {f"class-{driver}": 9.0, "anything": 1.0, "missing": wish.odd * 0.2}
    found: Json = {"deviceClassName": dice.weighted(classes)}
    if dice.chance(wish.picky):
        found["selectors"] = [_selector(dice, wish, driver) for _ in range(dice.weighted({1: 8.0, 2: 1.0}))]
    if dice.chance(0.03):
        found["allocationMode"] = "All"
    elif dice.chance(wish.odd * 0.1):
        found["count"] = dice.one([33, 500])
    elif dice.chance(0.8):
        found["count"] = 1 if dice.chance(0.7) else dice.number(1, wish.count)
    if dice.chance(0.25):
        found["tolerations"] = [_toleration(dice) for _ in range(dice.number(1, 2))]
    if dice.chance(0.2) and ("DRAConsumableCapacity" in wish.on or dice.chance(wish.odd)):
        found["capacity"] = {"requests": _amounts(dice, wish.odd)}
    if dice.chance(wish.odd * 0.2):
        found["derivedAttributes"] = [{"name": f"{driver}/numa", "expression": expressions.derived(dice, driver)}]
    return found


def _selector(dice: Dice, wish: Wish, driver: str) -> Json:
    if dice.chance(wish.odd * 0.1):
        return {}
    hard = dice.chance(wish.odd * 0.5)
    return {"cel": {"expression": expressions.hard(dice, driver) if hard else expressions.easy(dice, driver)}}


def _toleration(dice: Dice) -> Json:
    found: Json = {"operator": dice.one(["Exists", "Exists", "Equal"])}
    if dice.chance(0.8):
        found["key"] = dice.one(["broken", "old"])
    if found["operator"] == "Equal":
        found["value"] = dice.one(["x", "y", ""])
        if dice.chance(0.3):
            del found["operator"]
    if dice.chance(0.5):
        found["effect"] = dice.one(["NoSchedule", "NoExecute"])
    if dice.chance(0.2):
        found["tolerationSeconds"] = dice.number(0, 100)
    return found


def _amounts(dice: Dice, odd: float) -> Json:
    found: Json = {}
    if dice.chance(0.8):
        found["mem"] = dice.one(["1Gi", "2Gi", "1536Mi", "3Gi", "512Mi"])
    if dice.chance(0.3):
        found["cores"] = dice.one(["1", "2", "1500m", "600m", "1.3"])
    if dice.chance(0.1):
        found[f"{FOREIGN}/bandwidth"] = dice.one(["1G", "5G", "7500M"])
    if dice.chance(odd):
        found[dice.one(["mem", "cores", "nothing"])] = dice.one(["-1", "10E", "1.1001", "0", "9223372036854775808"])
    return found


def _config(dice: Dice, wish: Wish, requests: list[Json]) -> Json:
    found: Json = {"opaque": {"driver": dice.one(wish.drivers), "parameters": {"n": dice.number(0, 9)}}}
    if dice.chance(0.6):
        found["requests"] = dice.some(constraints.references(requests), 1, 2)
    return found


def device_class(dice: Dice, name: str, driver: str | None) -> Json:
    """Make a class; ``driver`` is whose devices it has."""
    spec: Json = {}
    if driver:
        spec["selectors"] = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
    if driver and dice.chance(0.05):
        spec["selectors"].append({"cel": {"expression": expressions.easy(dice, driver)}})
    if driver and dice.chance(0.25):
        config = {"opaque": {"driver": driver, "parameters": {"class": name}}}
        spec["config"] = [config] * dice.number(1, 2)
    return {"metadata": {"name": name}, "spec": spec}
