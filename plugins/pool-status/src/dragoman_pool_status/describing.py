"""Pools as they are, each for itself: one with an amount that nobody can read costs no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceTaintRule, PoolStatus, ResourceClaim
from dragoman_allocator.pool_status import LeanClaim, LeanSlice, Selection, describe
from dragoman_allocator.pool_status.gather import PoolKey, PoolSlices, gather

_Claim: TypeAlias = ResourceClaim | LeanClaim

FEATURES: Final = Features()
"""Gates of the cluster do not matter here: rules count where they are served."""


def described(
    slices: Sequence[LeanSlice], claims: Sequence[_Claim], rules: Sequence[DeviceTaintRule], selection: Selection
) -> Sequence[PoolStatus]:
    """Describe the selected pools, by driver and name.

    One that cannot be counted has no counts but those of its slices and devices, and says why in ``validation_error``.
    """
    try:
        return describe(slices, claims, rules, FEATURES, selection)[1]
    except InvalidInput:
        holding = _by_pool(claims)
    pools = gather(slices, selection.driver, selection.pool_name)
    return [_alone(pool, holding[key], rules, selection) for key, pool in pools.items()]


def _by_pool(claims: Iterable[_Claim]) -> defaultdict[PoolKey, list[_Claim]]:
    """Give the claims by pool of which they hold a device."""
    found: defaultdict[PoolKey, list[_Claim]] = defaultdict(list)
    for claim in claims:
        allocation = claim.status.allocation
        for key in {
            (result.driver, result.pool) for result in (allocation.devices.results if allocation else None) or ()
        }:
            found[key].append(claim)
    return found


def _alone(
    pool: PoolSlices, claims: Sequence[_Claim], rules: Sequence[DeviceTaintRule], selection: Selection
) -> PoolStatus:
    try:
        return describe(pool.slices, claims, rules, FEATURES, replace(selection, driver=pool.driver))[1][0]
    except InvalidInput as error:
        return PoolStatus(
            driver=pool.driver,
            pool_name=pool.name,
            generation=pool.generation,
            resource_slice_count=len(pool.slices),
            total_devices=sum(1 for _ in pool.devices()),
            node_name=pool.node_name,
            validation_error=f"pool {pool} cannot be counted: {error}",
        )
