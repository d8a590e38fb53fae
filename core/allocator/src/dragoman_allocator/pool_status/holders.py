"""Who holds the devices of a pool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dragoman_allocator.objects import RawQuantity, ResourceClaim
from dragoman_allocator.pool_status.gather import PoolKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One allocation result: the device, the claim (``namespace/name``), and for whom it is reserved."""

    device: str
    claim: str
    request: str
    share_id: str | None
    admin_access: bool
    consumed_capacity: Mapping[str, RawQuantity]
    reserved_for: tuple[str, ...]


def holders(claims: Iterable[ResourceClaim]) -> dict[PoolKey, list[Holder]]:
    """Give the holders by pool, sorted by device and claim; also those of devices that are gone, and admin access."""
    found: defaultdict[PoolKey, list[Holder]] = defaultdict(list)
    for claim in claims:
        allocation = claim.status.allocation
        for result in (allocation.devices.results if allocation else None) or ():
            found[result.driver, result.pool].append(
                Holder(
                    device=result.device,
                    claim=f"{claim.metadata.namespace}/{claim.metadata.name}",
                    request=result.request,
                    share_id=result.share_id,
                    admin_access=bool(result.admin_access),
                    consumed_capacity=result.consumed_capacity or {},
                    reserved_for=tuple(f"{each.resource}/{each.name}" for each in claim.status.reserved_for or ()),
                )
            )
    for each in found.values():
        each.sort(key=lambda holder: (holder.device, holder.claim, holder.request))
    return dict(found)
