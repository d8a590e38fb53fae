"""Which devices are unavailable: a taint NoSchedule or NoExecute of the driver or of an administrator's rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dragoman_allocator.objects import Device, DeviceTaintRule, TaintSelector
from dragoman_allocator.pool_status.gather import PoolSlices
from dragoman_allocator.pool_status.lean import LeanDevice

_EFFECTIVE: Final = ("NoSchedule", "NoExecute")


def effective_selectors(rules: Iterable[DeviceTaintRule]) -> list[TaintSelector]:
    """Give the selectors of rules that keep devices from being allocated; a rule without a selector selects nothing."""
    return [
        rule.spec.device_selector
        for rule in rules
        if rule.spec.device_selector is not None and rule.spec.taint.effect in _EFFECTIVE
    ]


def count_unavailable(pool: PoolSlices, selectors: Sequence[TaintSelector]) -> int:
    """Count the devices of a pool with such a taint; an allocated device counts too."""
    here = [each for each in selectors if each.driver in (None, pool.driver) and each.pool in (None, pool.name)]
    names = {each.device for each in here}
    if None in names:
        return sum(1 for _ in pool.devices())
    return sum(1 for device in pool.devices() if (device.taints and _tainted(device)) or device.name in names)


def _tainted(device: Device | LeanDevice) -> bool:
    return any(taint.effect in _EFFECTIVE for taint in device.taints or ())
