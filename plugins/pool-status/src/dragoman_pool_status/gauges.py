"""Pools as gauges, in the text format of Prometheus (0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from dragoman_allocator.objects import PoolStatus
from dragoman_allocator.quantity import parse

_Sample: TypeAlias = tuple[str, Mapping[str, str], float]

_HELP: Final = {
    "dragoman_pool_complete": "Whether all slices of the pool's newest generation exist",
    "dragoman_pool_valid": "Whether the pool's data is without fault: all slices, partitions that compare",
    "dragoman_pool_resource_slices": "Slices of the pool",
    "dragoman_pool_devices": "Devices of the pool",
    "dragoman_pool_devices_allocated": "Devices of the pool that a claim holds",
    "dragoman_pool_devices_available": "Devices of the pool that are neither allocated nor unavailable",
    "dragoman_pool_devices_unavailable": "Devices of the pool with a taint NoSchedule or NoExecute",
    "dragoman_pool_partitions": "Devices of one partition type",
    "dragoman_pool_partitions_allocatable": "Devices of one partition type that still fit, no other type being added",
    "dragoman_pool_shareable_devices_unused": "Shareable devices that no claim holds",
    "dragoman_pool_shareable_devices_used": "Shareable devices that at least one claim holds",
    "dragoman_pool_shareable_capacity": "Capacity of the shareable devices",
    "dragoman_pool_shareable_capacity_consumed": "Capacity of the shareable devices that claims consume",
    "dragoman_pool_shareable_capacity_available": "Capacity of the shareable devices that is left",
    "dragoman_pool_status_requests_processed_total": "Answers to pool status requests that were written or refused",
    "dragoman_pool_status_request_errors_total": "Answers to pool status requests that the API server refused",
}


def exposition(pools: Iterable[PoolStatus]) -> str:
    """Give the gauges of pools; counts of an incomplete pool are left out, as nobody knows them."""
    return _text([sample for pool in pools for sample in _samples(pool)], "gauge")


def counters(processed: Mapping[str, int], errors: Mapping[str, int]) -> str:
    """Give the counters of requests by driver."""
    named = (
        ("dragoman_pool_status_requests_processed_total", processed),
        ("dragoman_pool_status_request_errors_total", errors),
    )
    return _text([(name, {"driver": driver}, of[driver]) for name, of in named for driver in sorted(of)], "counter")


def _samples(pool: PoolStatus) -> Iterator[_Sample]:
    labels = {"driver": pool.driver, "pool": pool.pool_name, "node": pool.node_name or ""}
    counts = {
        "dragoman_pool_resource_slices": pool.resource_slice_count,
        "dragoman_pool_devices": pool.total_devices,
        "dragoman_pool_devices_allocated": pool.allocated_devices,
        "dragoman_pool_devices_available": pool.available_devices,
        "dragoman_pool_devices_unavailable": pool.unavailable_devices,
    }
    yield "dragoman_pool_complete", labels, pool.total_devices is not None
    yield "dragoman_pool_valid", labels, pool.validation_error is None
    yield from ((name, labels, count) for name, count in counts.items() if count is not None)
    for partition in pool.partition_summary or ():
        of = {**labels, "attribute": partition.attribute, "type": partition.type}
        yield "dragoman_pool_partitions", of, partition.total
        yield "dragoman_pool_partitions_allocatable", of, partition.allocatable
    yield from _shareable(pool, labels)


def _shareable(pool: PoolStatus, labels: Mapping[str, str]) -> Iterator[_Sample]:
    summary = pool.shareable_summary
    if summary is None:
        return
    yield "dragoman_pool_shareable_devices_unused", labels, summary.fully_available_devices
    yield "dragoman_pool_shareable_devices_used", labels, summary.partially_available_devices
    for capacity in summary.capacity or ():
        of = {**labels, "capacity": capacity.name}
        yield "dragoman_pool_shareable_capacity", of, parse(capacity.total).nanos / 10**9
        yield "dragoman_pool_shareable_capacity_consumed", of, parse(capacity.consumed).nanos / 10**9
        yield "dragoman_pool_shareable_capacity_available", of, parse(capacity.available).nanos / 10**9


def _text(samples: Iterable[_Sample], type_: str) -> str:
    # All samples of a metric stand together, as the format demands.
    lines: dict[str, list[str]] = {}
    for name, labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.setdefault(name, []).append(f"{name}{{{pairs}}} {float(value):.17g}\n")
    return "".join(
        f"# HELP {name} {_HELP[name]}.\n# TYPE {name} {type_}\n{''.join(lines[name])}"
        for name in _HELP
        if name in lines
    )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
