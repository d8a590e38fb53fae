"""``partitionSummary`` (1.37): for each partition type, how many exist and how many could still be allocated."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from dragoman_allocator.objects import CounterConsumption, Device
from dragoman_allocator.objects.requests import PartitionSummary
from dragoman_allocator.pool_status.gather import PoolSlices
from dragoman_allocator.pool_status.lean import LeanDevice
from dragoman_allocator.pool_status.views import MAX_ENTRIES, NoView
from dragoman_allocator.quantity import Quantity, parse
from dragoman_allocator.quoting import quoted

Costs = Sequence[CounterConsumption]
Counters = dict[tuple[str, str], Quantity]
"""What remains by counter set and counter."""


@dataclass(slots=True)
class _Group:
    cost: list[str]
    total: int = 0
    free: list[Costs] = field(default_factory=list)


def partition_summary(pool: PoolSlices, in_use: Container[str], default: str | None) -> list[PartitionSummary]:
    """Give the summary sorted by attribute and type; empty where nothing names a grouping attribute.

    ``default`` is the request's ``defaultPartitionTypeAttribute``: it applies, to every device of the pool, only where
    no slice with devices declares one. Raises ``NoView``.
    """
    devices = list(_with_attribute(pool, default))
    if not devices:
        return []
    if not pool.counter_sets:
        text = f"PartitionTypeMissing: pool {pool} declares partitionTypeAttribute but publishes no sharedCounters"
        raise NoView(text)
    groups = _groups(pool, devices, in_use)
    if len(groups) > MAX_ENTRIES:
        text = f"pool {pool} has {len(groups)} partition types, exceeding the maximum of {MAX_ENTRIES}"
        raise NoView(f"PartitionSummaryOverCap: {text}")
    baseline = _baseline(pool, in_use)
    return [
        PartitionSummary(
            attribute=attribute, type=type_, total=group.total, allocatable=_allocatable(group.free, dict(baseline))
        )
        for (attribute, type_), group in sorted(groups.items())
    ]


def _with_attribute(pool: PoolSlices, default: str | None) -> Iterator[tuple[Device | LeanDevice, str]]:
    declared = any(each.spec.partition_type_attribute and each.spec.devices for each in pool.slices)
    for part in pool.slices:
        attribute = part.spec.partition_type_attribute if declared else default
        if attribute:
            for device in part.spec.devices or ():
                yield device, attribute


def _groups(
    pool: PoolSlices, devices: Sequence[tuple[Device | LeanDevice, str]], in_use: Container[str]
) -> dict[tuple[str, str], _Group]:
    groups: dict[tuple[str, str], _Group] = {}
    for device, attribute in devices:
        if not device.consumes_counters:
            continue
        type_ = _type(pool, device, attribute)
        cost = _cost(device.consumes_counters)
        group = groups.setdefault((attribute, type_), _Group(cost))
        if group.cost != cost:
            text = f"devices of partition type {quoted(type_)} in pool {pool} consume different counters"
            raise NoView(f"PartitionCostMismatch: {text}")
        group.total += 1
        if device.name not in in_use:
            group.free.append(device.consumes_counters)
    return groups


def _type(pool: PoolSlices, device: Device | LeanDevice, attribute: str) -> str:
    attributes = device.attributes or {}
    found = attributes.get(attribute) or attributes.get(attribute.removeprefix(f"{pool.driver}/"))
    if found is None or found.string is None:
        name = quoted(device.name)
        text = f"device {name} in pool {pool} does not carry partition type attribute {quoted(attribute)}"
        raise NoView(f"PartitionTypeMissing: {text}")
    return found.string


def _cost(costs: Costs) -> list[str]:
    # Compared as text, as upstream does: 1Gi is 1024Mi, but not 1073741824.
    return sorted(
        f"{each.counter_set}/{name}={parse(counter.value).text}"
        for each in costs
        for name, counter in (each.counters or {}).items()
    )


def _baseline(pool: PoolSlices, in_use: Container[str]) -> Counters:
    remaining = {
        (counters.name, name): parse(counter.value)
        for counters in pool.counter_sets
        for name, counter in (counters.counters or {}).items()
    }
    for device in pool.devices():
        if device.consumes_counters and device.name in in_use:
            _deduct(_amounts(device.consumes_counters), remaining)
    return remaining


def _allocatable(free: Sequence[Costs], remaining: Counters) -> int:
    count = 0
    for costs in free:
        amounts = _amounts(costs)
        if all(key in remaining and remaining[key] >= amount for key, amount in amounts):
            count += 1
            _deduct(amounts, remaining)
    return count


def _amounts(costs: Costs) -> list[tuple[tuple[str, str], Quantity]]:
    return [
        ((each.counter_set, name), parse(counter.value))
        for each in costs
        for name, counter in (each.counters or {}).items()
    ]


def _deduct(amounts: Sequence[tuple[tuple[str, str], Quantity]], remaining: Counters) -> None:
    for key, amount in amounts:
        if key in remaining:
            remaining[key] = remaining[key] - amount
