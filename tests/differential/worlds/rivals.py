"""Requests that want what an earlier one takes first: without them few searches ever turn back."""

from __future__ import annotations

from tests.differential.worlds.constraints import wanted
from tests.differential.worlds.devices import NODE, Json
from tests.differential.worlds.dice import Dice


def set_up(dice: Dice, claims: list[Json], slices: list[Json], held: list[Json]) -> None:
    """Turn the last request towards a device that comes early in the order of the search."""
    requests = [request for claim in claims for request in claim["spec"]["devices"]["requests"]]
    found = [one for one in _early(slices, held) if dice.chance(0.1) or not one[1].get("allowMultipleAllocations")]
    if not found or len(requests) < 2:
        return
    spec, device = found[0] if dice.chance(0.7) else dice.one(found[:3])
    if dice.chance(0.7):
        device["attributes"]["rank"] = {"int": 1}
    for one in wanted(requests[-1:]):
        one.pop("allocationMode", None)
        one["deviceClassName"] = f"class-{spec['driver']}"
        one["selectors"] = [{"cel": {"expression": _just(spec["driver"], device)}}]
        one["count"] = 1
    for one in wanted(requests[:-1]):
        if dice.chance(0.85):
            one["deviceClassName"] = f"class-{spec['driver']}"
            one.pop("selectors", None)
            if dice.chance(0.5):
                one.pop("capacity", None)


def _early(slices: list[Json], held: list[Json]) -> list[tuple[Json, Json]]:
    """Give devices that anybody could have, in the order of the search, with their slices."""
    taken = {
        (result["pool"], result["device"])
        for claim in held
        for result in claim["status"]["allocation"]["devices"]["results"]
        if "adminAccess" not in result
    }
    places = sorted(slices, key=_place)
    return [
        (one["spec"], device)
        for one in places
        if one["spec"].get("allNodes") or one["spec"].get("nodeName") == NODE
        for device in one["spec"].get("devices") or ()
        if "taints" not in device and (one["spec"]["pool"]["name"], device["name"]) not in taken
    ]


def _place(one: Json) -> tuple[str, str, str]:
    return one["spec"]["driver"], one["spec"]["pool"]["name"], one["metadata"]["name"]


def _just(driver: str, device: Json) -> str:
    """Write a selector for this device and few others."""
    found = f'device.attributes["{driver}"]'
    if "rank" in device["attributes"]:
        return f"{found}.?rank.orValue(0) == 1"
    kind = device["attributes"]["kind"].get("string", "")
    terms = [f'{found}.?kind.orValue("") == "{kind}"']
    if numa := device["attributes"].get("numa", {}).get("int"):
        terms.append(f"{found}.?numa.orValue(0) == {numa}")
    if label := device["attributes"].get("label"):
        terms.append(f'{found}.?label.orValue("") == "{label["string"]}"')
    if "fast" in device["attributes"]:
        terms.append(f'"fast" in {found}')
    return " && ".join(terms)
