"""What claims hold of the pools that are asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from dragoman_allocator.objects import RawQuantity
from dragoman_allocator.pool_status.gather import PoolKey
from dragoman_allocator.pool_status.lean import AnyClaim


@dataclass(slots=True)
class PoolUsage:
    """``devices``: names with a result that is not admin access, also of devices that are gone.

    ``results``: all results. ``consumed``: by capacity name as published, the amounts of all shares.
    """

    devices: set[str] = field(default_factory=set)
    results: int = 0
    consumed: defaultdict[str, list[RawQuantity]] = field(default_factory=lambda: defaultdict(list))


def usage(claims: Iterable[AnyClaim], pools: Container[PoolKey]) -> defaultdict[PoolKey, PoolUsage]:
    """Give the usage of these pools by claims of all namespaces."""
    found: defaultdict[PoolKey, PoolUsage] = defaultdict(PoolUsage)
    for claim in claims:
        allocation = claim.status.allocation
        if allocation is None:
            continue
        for result in allocation.devices.results or ():
            key = (result.driver, result.pool)
            if key not in pools:
                continue
            used = found[key]
            used.results += 1
            if result.admin_access:
                continue
            used.devices.add(result.device)
            for name, amount in (result.consumed_capacity or {}).items():
                used.consumed[name].append(amount)
    return found
