"""What ties the devices of a claim together: constraints, and the attributes derived for them."""

from __future__ import annotations

from tests.differential.worlds import expressions
from tests.differential.worlds.devices import FOREIGN, Json
from tests.differential.worlds.dice import Dice

_DERIVED = "x.io/derived"


def tie(dice: Dice, driver: str, on: frozenset[str], odd: float, requests: list[Json]) -> list[Json]:
    """Make constraints over these requests; one that needs a derived attribute adds it to them."""
    several = len(requests) > 1 or any(int(one.get("count", 1)) > 1 for one in wanted(requests))
    times = dice.weighted({0: 5.0, 1: 4.0, 2: 0.4}) if several else dice.weighted({0: 9.0, 1: 1.0})
    return [_constraint(dice, driver, on, odd, requests) for _ in range(times)]


def _constraint(dice: Dice, driver: str, on: frozenset[str], odd: float, requests: list[Json]) -> Json:
    names = {
        f"{driver}/numa": 6.0,
        f"{driver}/kind": 2.0,
        f"{driver}/version": 1.0,
        f"{FOREIGN}/root": 1.0,
        f"{driver}/label": 1.0,
        f"{driver}/fast": 0.7,
        f"{driver}/slot": 0.3,
        f"{driver}/zones": 3.0 if "DRAListTypeAttributes" in on else odd,
        f"{driver}/lanes": 3.0 if "DRAListTypeAttributes" in on else odd,
        _DERIVED: 4.0 if "DRADerivedAttributes" in on else odd,
    }
    name = dice.weighted(names)
    if name == _DERIVED or (dice.chance(0.1) and "DRADerivedAttributes" in on):
        _derive(dice, driver, name, requests)
    found: Json = {"distinctAttribute" if dice.chance(0.3) else "matchAttribute": name}
    if dice.chance(odd * 0.1):
        found = dice.one([{}, {"matchAttribute": f"{driver}/numa", "distinctAttribute": name}])
    if dice.chance(0.35):
        found["requests"] = dice.some(references(requests), 1, 2)
    return found


def _derive(dice: Dice, driver: str, name: str, requests: list[Json]) -> None:
    shared = expressions.derived(dice, driver)
    for one in wanted(requests):
        if dice.chance(0.9):
            expression = shared if dice.chance(0.7) else expressions.derived(dice, driver)
            one["derivedAttributes"] = [{"name": name, "expression": expression}]


def wanted(requests: list[Json]) -> list[Json]:
    """Give what is asked for in each request and alternative."""
    return [
        one
        for request in requests
        for one in ([request["exactly"]] if "exactly" in request else request["firstAvailable"])
    ]


def references(requests: list[Json]) -> list[str]:
    """Give every way to name a request or an alternative of one."""
    names = []
    for request in requests:
        names.append(request["name"])
        names += [f"{request['name']}/{sub['name']}" for sub in request.get("firstAvailable", ())]
    return names
