"""The status of pools, and the answer to a request for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dragoman_allocator.errors import AllocatorError, InvalidInput
from dragoman_allocator.features import Features
from dragoman_allocator.objects import Condition, DeviceTaintRule, PoolStatus, PoolStatusRequest
from dragoman_allocator.objects.requests import PartitionSummary, PoolStatusRequestStatus, ShareableSummary
from dragoman_allocator.pool_status.gather import PoolSlices, gather
from dragoman_allocator.pool_status.lean import AnyClaim, AnySlice
from dragoman_allocator.pool_status.partitions import partition_summary
from dragoman_allocator.pool_status.shareable import shareable_summary
from dragoman_allocator.pool_status.taints import count_unavailable, effective_selectors
from dragoman_allocator.pool_status.usage import PoolUsage, usage
from dragoman_allocator.pool_status.views import NoView

DEFAULT_LIMIT: Final = 100
MAX_ERROR: Final = 256
"""Bytes of ``validationError``."""

_Views = tuple[list[PartitionSummary] | None, ShareableSummary | None, str | None]


class PoolIncomplete(AllocatorError):
    """Slices of a pool are missing, so that the controller writes nothing and tries again.

    ``status`` is what it would have written, with the pool marked.
    """

    def __init__(self, text: str, status: PoolStatusRequestStatus) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which pools: None takes all. ``limit`` is how many are described, of those sorted by driver and name."""

    driver: str | None = None
    pool_name: str | None = None
    limit: int | None = None
    default_partition_type_attribute: str | None = None


def describe(
    slices: Iterable[AnySlice],
    claims: Iterable[AnyClaim],
    rules: Iterable[DeviceTaintRule],
    features: Features,
    selection: Selection,
) -> tuple[int, list[PoolStatus]]:
    """Give the number of pools that were selected, and the status of those within the limit.

    Raises ``InvalidInput`` for a quantity that cannot be read.
    """
    found = gather(slices, selection.driver, selection.pool_name)
    listed = list(found.values())[: selection.limit]
    used = usage(claims, {(pool.driver, pool.name) for pool in listed})
    selectors = effective_selectors(rules) if features.on("DRADeviceTaintRules") else []
    statuses = []
    for pool in listed:
        held = used[pool.driver, pool.name]
        if pool.incomplete:
            statuses.append(_incomplete(pool, features))
        elif features.since("1.37"):
            unavailable = count_unavailable(pool, selectors)
            views = _views(pool, held, selection.default_partition_type_attribute)
            statuses.append(_counted(pool, len(held.devices), unavailable, views))
        else:
            statuses.append(_counted(pool, held.results, 0, (None, None, None)))
    return len(found), statuses


def pool_status(
    slices: Iterable[AnySlice],
    claims: Iterable[AnyClaim],
    rules: Iterable[DeviceTaintRule],
    request: PoolStatusRequest,
    features: Features,
    now: str,
) -> PoolStatusRequestStatus:
    """Answer a request as the controller of kube-controller-manager does; ``now`` is RFC 3339 in whole seconds.

    Raises ``PoolIncomplete`` where it would try again, and ``InvalidInput`` for a limit that is out of range.
    """
    spec = request.spec
    if spec.limit is not None and spec.limit < 0:
        raise InvalidInput(f"spec.limit of request {request.metadata.name} is {spec.limit}: it must be 1 to 1000")
    selection = Selection(
        driver=spec.driver,
        pool_name=spec.pool_name,
        limit=DEFAULT_LIMIT if spec.limit is None else spec.limit,
        default_partition_type_attribute=spec.default_partition_type_attribute,
    )
    count, pools = describe(slices, claims, rules, features, selection)
    faults = [pool for pool in pools if pool.validation_error is not None]
    message = f"Calculated status for {len(pools)} pools" + (f" ({len(faults)} incomplete)" if faults else "")
    status = _status(count, pools, "Complete", "CalculationComplete", message, now)
    for pool in faults:
        if pool.total_devices is None:
            raise PoolIncomplete(str(pool.validation_error), status)
    return status


def failed(message: str, now: str) -> PoolStatusRequestStatus:
    """Give the status that says that nothing could be calculated, for instance because claims cannot be listed."""
    return _status(0, [], "Failed", "CalculationFailed", message, now)


def _status(
    count: int, pools: list[PoolStatus], type_: str, reason: str, message: str, now: str
) -> PoolStatusRequestStatus:
    condition = Condition(type=type_, status="True", last_transition_time=now, reason=reason, message=message)
    return PoolStatusRequestStatus(pool_count=count, pools=pools or None, conditions=[condition])


def _incomplete(pool: PoolSlices, features: Features) -> PoolStatus:
    text = f"pool {pool} is incomplete: observed {len(pool.slices)}/{pool.expected} slices"
    prefix = "PoolIncomplete: " if features.since("1.37") else ""
    return PoolStatus(
        driver=pool.driver,
        pool_name=pool.name,
        generation=pool.generation,
        node_name=pool.node_name,
        validation_error=_cut(f"{prefix}{text} at generation {pool.generation}"),
    )


def _counted(pool: PoolSlices, allocated: int, unavailable: int, views: _Views) -> PoolStatus:
    total = sum(len(each.spec.devices or ()) for each in pool.slices)
    partitions, shareable, error = views
    return PoolStatus(
        driver=pool.driver,
        pool_name=pool.name,
        generation=pool.generation,
        resource_slice_count=len(pool.slices),
        total_devices=total,
        allocated_devices=allocated,
        # A device that is both allocated and tainted is subtracted twice, as upstream documents it.
        available_devices=max(0, total - allocated - unavailable),
        unavailable_devices=unavailable,
        node_name=pool.node_name,
        validation_error=_cut(error) if error else None,
        partition_summary=partitions,
        shareable_summary=shareable,
    )


def _views(pool: PoolSlices, used: PoolUsage, default: str | None) -> _Views:
    partitions: list[PartitionSummary] | None = None
    shareable: ShareableSummary | None = None
    errors = []
    try:
        partitions = partition_summary(pool, used.devices, default) or None
    except (NoView, InvalidInput) as fault:
        errors.append(str(fault))
    try:
        shareable = shareable_summary(pool, used)
    except (NoView, InvalidInput) as fault:
        errors.append(str(fault))
    # An error of either view clears the partitions; shareable capacity stands beside an error of the partitions.
    return (None, shareable, errors[0]) if errors else (partitions, shareable, None)


def _cut(text: str) -> str:
    return text.encode()[:MAX_ERROR].decode(errors="replace")
