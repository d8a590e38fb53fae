"""ResourceSlice."""

from __future__ import annotations

from msgspec import field

from dragoman_allocator.objects.meta import Int64, Metadata, NodeSelector, RawQuantity, Struct


class Attribute(Struct):
    """A value with exactly one member set; lists exist since 1.36 (DRAListTypeAttributes)."""

    int_: Int64 | None = field(name="int", default=None)
    bool_: bool | None = field(name="bool", default=None)
    string: str | None = None
    version: str | None = None
    ints: list[Int64] | None = None
    bools: list[bool] | None = None
    strings: list[str] | None = None
    versions: list[str] | None = None


class RequestPolicyRange(Struct):
    """``requestPolicy.validRange``."""

    min: RawQuantity | None = None
    max: RawQuantity | None = None
    step: RawQuantity | None = None


class RequestPolicy(Struct):
    """``capacity.*.requestPolicy``: what a share may consume."""

    default: RawQuantity | None = None
    valid_values: list[RawQuantity] | None = None
    valid_range: RequestPolicyRange | None = None


class Capacity(Struct):
    """``capacity.*``."""

    value: RawQuantity = "0"
    request_policy: RequestPolicy | None = None


class Counter(Struct):
    """A declared or consumed amount of a counter."""

    value: RawQuantity = "0"


class CounterSet(Struct):
    """``spec.sharedCounters[]``."""

    name: str = ""
    counters: dict[str, Counter] | None = None


class CounterConsumption(Struct):
    """``devices[].consumesCounters[]``."""

    counter_set: str = ""
    counters: dict[str, Counter] | None = None
    compatibility_groups: list[str] | None = None


class DeviceTaint(Struct):
    """A taint of a device or of a DeviceTaintRule; ``time_added`` as written."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeAllocatableMapping(Struct):
    """Capacity or device times a factor gives an amount of cpu, memory or hugepages (KEP-5517)."""

    capacity_key: str | None = None
    capacity_multiplier: RawQuantity | None = None
    device_multiplier: RawQuantity | None = None


class NodeAllocatableOverhead(Struct):
    """What a pod and each of its containers that use the device need in addition."""

    per_pod: RawQuantity | None = None
    per_container: RawQuantity | None = None


class NodeAllocatable(Struct):
    """``devices[].nodeAllocatableResources.*``."""

    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


class Device(Struct):
    """``spec.devices[]``."""

    name: str = ""
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    consumes_counters: list[CounterConsumption] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None
    node_allocatable_resources: dict[str, NodeAllocatable] | None = None


class Pool(Struct):
    """``spec.pool``."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class SliceSpec(Struct):
    """``spec``."""

    driver: str = ""
    pool: Pool = Pool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: list[Device] | None = None
    per_device_node_selection: bool | None = None
    shared_counters: list[CounterSet] | None = None
    partition_type_attribute: str | None = None
    skip_node_operations: list[str] | None = None


class ResourceSlice(Struct):
    """A part of a pool."""

    metadata: Metadata = Metadata()
    spec: SliceSpec = SliceSpec()
