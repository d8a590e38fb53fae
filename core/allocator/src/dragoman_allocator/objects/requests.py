"""ResourcePoolStatusRequest (v1alpha3), as of 1.37."""

from __future__ import annotations

from dragoman_allocator.objects.meta import Condition, Int32, Metadata, RawQuantity, Struct


class PoolStatusRequestSpec(Struct):
    """``spec``; ``limit`` has the API server's default of 100 once decoded."""

    driver: str = ""
    pool_name: str | None = None
    limit: Int32 | None = None
    default_partition_type_attribute: str | None = None


class PartitionSummary(Struct):
    """``partitionSummary[]``: devices of one type, and how many of them could still be allocated."""

    attribute: str
    total: int
    allocatable: int
    type: str = ""


class ShareableCapacity(Struct, omit_defaults=False):
    """``shareableSummary.capacity[]``."""

    name: str
    total: RawQuantity
    consumed: RawQuantity
    available: RawQuantity


class ShareableSummary(Struct):
    """``shareableSummary``."""

    fully_available_devices: int
    partially_available_devices: int
    capacity: list[ShareableCapacity] | None = None


class PoolStatus(Struct):
    """``status.pools[]``; counts are None where the pool is incomplete."""

    driver: str
    pool_name: str
    generation: int
    resource_slice_count: int | None = None
    total_devices: int | None = None
    allocated_devices: int | None = None
    available_devices: int | None = None
    unavailable_devices: int | None = None
    node_name: str | None = None
    validation_error: str | None = None
    partition_summary: list[PartitionSummary] | None = None
    shareable_summary: ShareableSummary | None = None


class PoolStatusRequestStatus(Struct):
    """``status``; written once."""

    pool_count: int
    pools: list[PoolStatus] | None = None
    conditions: list[Condition] | None = None


class PoolStatusRequest(Struct):
    """A question about the pools of a driver."""

    metadata: Metadata = Metadata()
    spec: PoolStatusRequestSpec = PoolStatusRequestSpec()
    status: PoolStatusRequestStatus | None = None
