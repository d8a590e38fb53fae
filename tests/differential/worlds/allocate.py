"""Worlds of one node, some claims to allocate, and whatever devices there are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.differential.worlds import effort, gates, held, pools, requests, rivals
from tests.differential.worlds.devices import Json, Plan, taint
from tests.differential.worlds.dice import Dice
from tests.differential.worlds.gates import Gates
from tests.differential.worlds.pools import Shape
from tests.differential.worlds.requests import Wish

DRIVERS = ("driver-a", "driver-b.example.com")


@dataclass(frozen=True)
class Size:
    """How much there is of everything. ``odd``: how often something is out of the ordinary."""

    pools: tuple[int, int]
    shape: Shape
    claims: int
    requests: int
    count: int
    picky: float
    held: float
    odd: float
    ways: int
    """About how many there may be to look through."""


SIZES = {
    "small": Size((1, 2), Shape((1, 1), (3, 6)), 1, 2, count=2, picky=0.25, held=0.08, odd=0.03, ways=10_000),
    "mixed": Size((1, 4), Shape((1, 3), (2, 6)), 3, 3, count=3, picky=0.25, held=0.08, odd=0.015, ways=30_000),
    "hard": Size((2, 4), Shape((1, 2), (4, 7)), 2, 4, count=4, picky=0.4, held=0.1, odd=0.01, ways=200_000),
}


def make(dice: Dice, size: str) -> Json:
    """Make one question of kind ``allocate``."""
    chosen = gates.draw(dice)
    world = scene(dice, SIZES[size], chosen)
    world["features"] = chosen.value
    return world


def scene(dice: Dice, size: Size, chosen: Gates) -> Json:
    """Make a node with its surroundings and claims."""
    drivers = DRIVERS[: dice.weighted({1: 6.0, 2: 4.0})]
    if not chosen.ordered:
        size, drivers = replace(size, pools=(1, 1)), drivers[:1]
    slices = [
        one for i in range(dice.number(*size.pools)) for one in _pool(dice, size, chosen, drivers[i % len(drivers)], i)
    ]
    slices = dice.shuffled(slices) if chosen.ordered else slices
    wish = Wish(drivers, chosen.on, size.odd, size.count, size.requests, size.picky)
    number = min(dice.number(1, size.claims), dice.number(1, size.claims))
    claims = [requests.claim(dice, wish, f"c{i}") for i in range(number)]
    taken = held.claims(dice, slices, size.held, size.odd)
    devices = sum(len(one["spec"].get("devices") or ()) for one in slices)
    if dice.chance(0.85):
        rivals.set_up(dice, claims, slices, taken)
    classes = [requests.device_class(dice, f"class-{driver}", driver) for driver in drivers]
    return {
        "node": pools.node(dice),
        "slices": slices,
        "classes": [*classes, requests.device_class(dice, "anything", None)],
        "claims": effort.bounded(claims, devices, size.ways),
        "allocatedClaims": taken,
        "taintRules": [_rule(dice, drivers, i) for i in range(dice.weighted({0: 8.0, 1: 1.5, 2: 0.5}))],
    }


def _pool(dice: Dice, size: Size, chosen: Gates, driver: str, number: int) -> list[Json]:
    plan = Plan(
        driver=driver,
        on=chosen.on,
        odd=size.odd,
        shareable=dice.one([0.0, 0.1, 0.6]),
        tainted=dice.one([0.0, 0.05, 0.3]),
        binding=dice.chance(0.15),
        kinds=dice.number(1, 3),
        numas=dice.number(1, 3),
    )
    name = dice.one([f"p{number}", f"p{number}", f"pool-{number}", f"rack/p{number}"])
    return pools.make(dice, plan, name, size.shape)


def _rule(dice: Dice, drivers: tuple[str, ...], number: int) -> Json:
    selector: Json = {}
    for member, values in (("driver", drivers), ("pool", ("p0", "p1")), ("device", ("d00", "d01", "d10"))):
        if dice.chance(0.6):
            selector[member] = dice.one(values)
    spec: Json = {"taint": taint(dice)}
    if not dice.chance(0.15):
        spec["deviceSelector"] = selector
    return {"metadata": {"name": f"rule{number}"}, "spec": spec}
