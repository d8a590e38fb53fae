"""A naive judge of allocations, which shares no code with the allocator: every rule again, in the plainest way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from .clusters import Json

Key = tuple[str, str, str]


def faults(
    slices: Sequence[Json], allocated: Sequence[Json], claims: Sequence[Json], results: Sequence[Json]
) -> list[str]:
    """List what is wrong with results for claims of ``worlds``; amounts there are whole numbers, names are bare."""
    devices = {_key(spec["spec"], one["name"]): one for spec in slices for one in spec["spec"].get("devices", ())}
    old = [r for claim in allocated for r in claim["status"]["allocation"]["devices"]["results"]]
    new = [[dict(r) for r in result["devices"].get("results", ())] for result in results]
    found: list[str] = []
    for claim, mine in zip(claims, new, strict=True):
        found += _requests(devices, claim, mine)
        found += _constraints(devices, claim, mine)
    every = [r for mine in new for r in mine]
    found += _exclusive(devices, old, every)
    found += _capacity(devices, old, every)
    found += _counters(slices, devices, old + every)
    return found


def _key(spec: Json, name: str) -> Key:
    return spec["driver"], spec["pool"]["name"], name


def _of(result: Json) -> Key:
    return result["driver"], result["pool"], result["device"]


def _value(device: Json, name: str) -> Any:
    return next(iter(device.get("attributes", {}).get(name, {}).values()), None)


def _requests(devices: dict[Key, Json], claim: Json, mine: list[Json]) -> Iterator[str]:
    for request in claim["spec"]["devices"]["requests"]:
        options = request.get("firstAvailable") or [request["exactly"]]
        named = [r for r in mine if r["request"].split("/")[0] == request["name"]]
        option = options[0]
        if "firstAvailable" in request:
            option = next(o for o in options if named and named[0]["request"] == f"{request['name']}/{o['name']}")
        if len(named) != option.get("count", 1):
            yield f"{request['name']}: {len(named)} devices"
        if len({_of(r) for r in named}) != len(named):
            yield f"{request['name']}: a device twice"
        for result in named:
            yield from _suits(devices[_of(result)], option, result)


def _suits(device: Json, option: Json, result: Json) -> Iterator[str]:
    kind = option.get("kind_")
    if kind is not None and _value(device, "kind") != kind:
        yield f"{device['name']} is of another kind"
    tolerated = {t.get("key") for t in option.get("tolerations", ())}
    if any(taint["key"] not in tolerated for taint in device.get("taints", ())):
        yield f"{device['name']} is tainted"
    wanted = option.get("capacity", {}).get("requests", {})
    for name, amount in wanted.items():
        given = result.get("consumedCapacity", {}).get(name) if device.get("allowMultipleAllocations") else amount
        if given is None or int(given) < int(amount):
            yield f"{device['name']} gives {given} of {amount}"


def _constraints(devices: dict[Key, Json], claim: Json, mine: list[Json]) -> Iterator[str]:
    for constraint in claim["spec"]["devices"].get("constraints", ()):
        names = constraint.get("requests")
        taken = [r for r in mine if not names or r["request"] in names or r["request"].split("/")[0] in names]
        name = (constraint.get("matchAttribute") or constraint["distinctAttribute"]).split("/")[1]
        values = [_value(devices[_of(r)], name) for r in taken]
        if None in values:
            yield f"a device lacks {name}"
        wanted = 1 if "matchAttribute" in constraint else len(values)
        if values and len(set(values)) != wanted:
            yield f"{constraint}: {values}"


def _exclusive(devices: dict[Key, Json], old: list[Json], new: list[Json]) -> Iterator[str]:
    whole = Counter(_of(r) for r in old + new if not r.get("shareID"))
    shares = [r["shareID"] for r in new if r.get("shareID")]
    if len(set(shares)) != len(shares):
        yield "a share ID twice"
    for result in new:
        if bool(result.get("shareID")) != bool(devices[_of(result)].get("allowMultipleAllocations")):
            yield f"{result['device']} is shared and is not"
        if whole[_of(result)] > (0 if result.get("shareID") else 1):
            yield f"{result['device']} is somebody else's"


def _capacity(devices: dict[Key, Json], old: list[Json], new: list[Json]) -> Iterator[str]:
    used: defaultdict[tuple[Key, str], Fraction] = defaultdict(Fraction)
    for result in old + new:
        for name, amount in (result.get("consumedCapacity") or {}).items():
            used[_of(result), name] += Fraction(amount)
    for (key, name), amount in used.items():
        if key in devices and amount > Fraction(devices[key]["capacity"][name]["value"]):
            yield f"{key[2]}: {amount} of {name}"


def _counters(slices: Sequence[Json], devices: dict[Key, Json], results: list[Json]) -> Iterator[str]:
    left = {
        (spec["spec"]["driver"], spec["spec"]["pool"]["name"], one["name"], name): int(counter["value"])
        for spec in slices
        for one in spec["spec"].get("sharedCounters", ())
        for name, counter in one["counters"].items()
    }
    for key in {_of(r) for r in results}:
        for part in devices[key].get("consumesCounters", ()):
            for name, counter in part["counters"].items():
                left[key[0], key[1], part["counterSet"], name] -= int(counter["value"])
    yield from (f"{counter} is below zero" for counter, amount in left.items() if amount < 0)
