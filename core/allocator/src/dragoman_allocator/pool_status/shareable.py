"""``shareableSummary`` (1.37): capacity of the devices that several claims may share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from dragoman_allocator.objects import RawQuantity
from dragoman_allocator.objects.requests import ShareableCapacity, ShareableSummary
from dragoman_allocator.pool_status.gather import PoolSlices
from dragoman_allocator.pool_status.usage import PoolUsage
from dragoman_allocator.pool_status.views import MAX_ENTRIES, NoView
from dragoman_allocator.quantity import Quantity, parse

_ZERO: Final = "0"


def shareable_summary(pool: PoolSlices, used: PoolUsage) -> ShareableSummary | None:
    """Give the summary, or None if no device of the pool can be shared. Raises ``NoView``.

    A device with any share counts as partially available, also when nothing of it is left.
    """
    devices = [device for device in pool.devices() if device.allow_multiple_allocations]
    if not devices:
        return None
    totals: defaultdict[str, list[RawQuantity]] = defaultdict(list)
    for device in devices:
        for name, capacity in (device.capacity or {}).items():
            totals[name].append(capacity.value)
    if len(totals) > MAX_ENTRIES:
        text = f"pool {pool} has {len(totals)} shareable capacity keys, exceeding the maximum of {MAX_ENTRIES}"
        raise NoView(f"ShareableSummaryOverCap: {text}")
    partial = sum(device.name in used.devices for device in devices)
    return ShareableSummary(
        fully_available_devices=len(devices) - partial,
        partially_available_devices=partial,
        capacity=[_capacity(name, totals[name], used.consumed.get(name, ())) for name in sorted(totals)] or None,
    )


def _capacity(name: str, total: Iterable[RawQuantity], consumed: Iterable[RawQuantity]) -> ShareableCapacity:
    whole, gone = _sum(total), _sum(consumed)
    available = whole - gone
    left = available.text if available > parse(_ZERO) else _ZERO
    return ShareableCapacity(name=name, total=whole.text, consumed=gone.text, available=left)


def _sum(amounts: Iterable[RawQuantity]) -> Quantity:
    # From zero on, so that one amount alone too prints canonically and brings its own format.
    return sum(map(parse, amounts), parse(_ZERO))
