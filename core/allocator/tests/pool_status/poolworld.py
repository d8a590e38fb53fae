"""Short ways to write slices, claims and rules as the API has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceTaintRule, PoolStatus, PoolStatusRequest, ResourceClaim, ResourceSlice
from dragoman_allocator.objects.requests import PoolStatusRequestStatus
from dragoman_allocator.pool_status import pool_status

DRIVER = "gpu.example.com"
NOW = "2026-03-01T10:00:00Z"
RULES_OF_1_36 = Features.of_release("1.36")
PROFILE = f"{DRIVER}/profile"


def as_struct(value: Any, type_: Any) -> Any:
    return msgspec.json.decode(json.dumps(value), type=type_)


def device(name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, **members}


def devices(count: int, **members: Any) -> list[dict[str, Any]]:
    return [device(f"d{number}", **members) for number in range(1, count + 1)]


def slice_(
    given: Iterable[Mapping[str, Any]] = (),
    *,
    pool: str = "p",
    generation: int = 1,
    count: int = 1,
    driver: str = DRIVER,
    node: str | None = "n1",
    **spec: Any,
) -> ResourceSlice:
    where = {"nodeName": node} if node is not None else {"allNodes": True}
    of = {"name": pool, "generation": generation, "resourceSliceCount": count}
    body = {"driver": driver, "pool": of, "devices": list(given), **where, **spec}
    found: ResourceSlice = as_struct({"spec": body}, ResourceSlice)
    return found


def counters(sets: Mapping[str, Mapping[str, str]], *, count: int = 2, **spec: Any) -> ResourceSlice:
    shared = [{"name": name, "counters": amounts(of)} for name, of in sets.items()]
    return slice_(count=count, sharedCounters=shared, **spec)


def amounts(of: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {name: {"value": value} for name, value in of.items()}


def partition(name: str, type_: str, cost: Mapping[str, Mapping[str, str]], **members: Any) -> dict[str, Any]:
    consumed = [{"counterSet": each, "counters": amounts(of)} for each, of in cost.items()]
    return device(name, attributes={PROFILE: {"string": type_}}, consumesCounters=consumed, **members)


def partitions(given: Iterable[Mapping[str, Any]], **spec: Any) -> ResourceSlice:
    return slice_(given, count=2, partitionTypeAttribute=PROFILE, **spec)


def result(name: str, *, pool: str = "p", driver: str = DRIVER, **members: Any) -> dict[str, Any]:
    return {"request": "r", "driver": driver, "pool": pool, "device": name, **members}


def claim(*results: str | Mapping[str, Any], name: str = "c") -> ResourceClaim:
    all_ = [result(each) if isinstance(each, str) else each for each in results]
    body = {"metadata": {"name": name, "namespace": "ns"}, "status": {"allocation": {"devices": {"results": all_}}}}
    found: ResourceClaim = as_struct(body, ResourceClaim)
    return found


def rule(selector: Mapping[str, str] | None, effect: str = "NoSchedule") -> DeviceTaintRule:
    spec = {"deviceSelector": selector, "taint": {"key": "k", "effect": effect}}
    found: DeviceTaintRule = as_struct({"spec": spec}, DeviceTaintRule)
    return found


def ask(
    slices: Sequence[ResourceSlice],
    claims: Sequence[ResourceClaim] = (),
    rules: Sequence[DeviceTaintRule] = (),
    *,
    features: Features | None = None,
    **spec: Any,
) -> PoolStatusRequestStatus:
    request = as_struct({"metadata": {"name": "q"}, "spec": {"driver": DRIVER, **spec}}, PoolStatusRequest)
    return pool_status(slices, claims, rules, request, features or Features(), NOW)


def one(slices: Sequence[ResourceSlice], claims: Sequence[ResourceClaim] = (), **given: Any) -> PoolStatus:
    (pool,) = ask(slices, claims, **given).pools or []
    return pool


def counts(pool: PoolStatus) -> tuple[int | None, ...]:
    """Give total, allocated, available, unavailable."""
    return pool.total_devices, pool.allocated_devices, pool.available_devices, pool.unavailable_devices


def summary(pool: PoolStatus) -> dict[str, tuple[int, int]] | None:
    """Give allocatable and total by type."""
    if pool.partition_summary is None:
        return None
    return {each.type: (each.allocatable, each.total) for each in pool.partition_summary}


def message(status: PoolStatusRequestStatus) -> str:
    (condition,) = status.conditions or []
    return condition.message
