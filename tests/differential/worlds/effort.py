"""How long a search may get where nothing fits: worlds are kept to what a program can look through in seconds."""

from __future__ import annotations

from math import comb

from tests.differential.worlds.constraints import wanted
from tests.differential.worlds.devices import Json


def bounded(claims: list[Json], devices: int, limit: int) -> list[Json]:
    """Take requests away from the end until the whole search has about ``limit`` ways at most."""
    while _ways(claims, devices) > limit:
        requests = claims[-1]["spec"]["devices"]["requests"]
        if len(requests) > 1:
            _forget(claims[-1], requests.pop()["name"])
        elif len(claims) > 1:
            claims.pop()
        else:
            for one in wanted(requests):
                one["count"] = 1
            break
    return claims


def _ways(claims: list[Json], devices: int) -> int:
    ways = 1
    for claim in claims:
        for request in claim["spec"]["devices"]["requests"]:
            ways *= max(1, sum(_one(one, devices) for one in wanted([request])))
    return ways


def _one(asked: Json, devices: int) -> int:
    if asked.get("allocationMode") == "All":
        return 1
    # About half of the devices are ruled out by what is checked before the search goes deeper.
    return comb(max(1, devices * 2 // 3), int(asked.get("count", 1)))


def _forget(claim: Json, name: str) -> None:
    """Take a request that is gone out of what names it."""
    spec = claim["spec"]["devices"]
    for entry in [*spec.get("constraints", ()), *spec.get("config", ())]:
        if "requests" in entry:
            entry["requests"] = [one for one in entry["requests"] if one.split("/")[0] != name]
