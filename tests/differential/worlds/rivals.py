"""Requests that want what an earlier one takes first: without them few searches ever turn back."""

from __future__ import annotations

from tests.differential.worlds.constraints import wanted
from tests.differential.worlds.devices import Json
from tests.differential.worlds.dice import Dice


def set_up(dice: Dice, claims: list[Json], slices: list[Json]) -> None:
    """Turn the last request towards a device that comes early in the order of the search."""
    early = sorted((one["spec"]["driver"], one["spec"]["pool"]["name"], one["metadata"]["name"]) for one in slices)
    by_name = {one["metadata"]["name"]: one["spec"] for one in slices}
    holders = [by_name[name] for *_, name in early if by_name[name].get("devices") and not by_name[name].get("taints")]
    if not holders:
        return
    spec = holders[0]
    device = dice.one(spec["devices"][:2])
    for one in wanted(claims[-1]["spec"]["devices"]["requests"][-1:]):
        if one.get("allocationMode") != "All":
            one["deviceClassName"] = f"class-{spec['driver']}"
            one["selectors"] = [{"cel": {"expression": _just(spec["driver"], device)}}]
            one["count"] = 1
    for one in wanted(claims[0]["spec"]["devices"]["requests"][:1]):
        if dice.chance(0.7):
            one.pop("selectors", None)


def _just(driver: str, device: Json) -> str:
    """Write a selector for this device and few others."""
    found = f'device.attributes["{driver}"]'
    terms = [f'{found}.?kind.orValue("") == "{device["attributes"]["kind"]["string"]}"']
    if numa := device["attributes"].get("numa", {}).get("int"):
        terms.append(f"{found}.?numa.orValue(0) == {numa}")
    if label := device["attributes"].get("label"):
        terms.append(f'{found}.?label.orValue("") == "{label["string"]}"')
    return " && ".join(terms)
