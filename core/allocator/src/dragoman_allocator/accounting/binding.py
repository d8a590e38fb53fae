"""Binding conditions of allocated claims (KEP-5007): when the scheduler takes a claim for failed or late."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dragoman_allocator import times
from dragoman_allocator.objects import AllocatedDeviceStatus, DeviceResult, ResourceClaim

BINDING_TIMEOUT: Final = timedelta(seconds=600)
"""The scheduler's default."""


def binding_is_lost(claim: ResourceClaim, now: datetime) -> bool:
    """Tell whether a device failed to bind, or the claim waits for one for longer than the scheduler does."""
    ready, failed = _readiness(claim)
    return failed or (not ready and _is_late(claim, now))


def _readiness(claim: ResourceClaim) -> tuple[bool, bool]:
    for result in _results(claim):
        if not result.binding_conditions:
            continue
        status = _status_of(claim, result)
        if status is None:
            return False, False
        true = {condition.type for condition in status.conditions or () if condition.status == "True"}
        if true.intersection(result.binding_failure_conditions or ()):
            return False, True
        if not true.issuperset(result.binding_conditions):
            return False, False
    return True, False


def _is_late(claim: ResourceClaim, now: datetime) -> bool:
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    since = times.parse(allocation.allocation_timestamp)
    waits = any(result.binding_conditions is not None for result in _results(claim))
    return waits and since + BINDING_TIMEOUT < now


def _results(claim: ResourceClaim) -> list[DeviceResult]:
    allocation = claim.status.allocation
    return allocation.devices.results or [] if allocation else []


def _status_of(claim: ResourceClaim, result: DeviceResult) -> AllocatedDeviceStatus | None:
    key = (result.driver, result.pool, result.device)
    return next((each for each in claim.status.devices or () if (each.driver, each.pool, each.device) == key), None)
