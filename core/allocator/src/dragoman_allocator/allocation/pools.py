"""The pools that a node can reach: newest generation, completeness, validity and order (api-semantics 2.3 and 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from dragoman_allocator.allocation.counters import CounterLedger
from dragoman_allocator.allocation.devices import Catalog, DeviceRecord, SliceRecord
from dragoman_allocator.allocation.groups import GroupLedger
from dragoman_allocator.allocation.node_match import node_matches
from dragoman_allocator.allocation.rules import Rules
from dragoman_allocator.errors import AllocationFailed, InvalidInput
from dragoman_allocator.objects import CounterSet, Node

PoolId = tuple[str, str]
"""Driver and pool name."""


class Condition(Enum):
    """Whether devices can be taken from a pool."""

    USABLE = "usable"
    INCOMPLETE = "currently being updated"
    INVALID = "currently invalid"


class Pool:
    """A pool as a node sees it; ``reason`` says what is wrong with an invalid one."""

    __slots__ = ("condition", "counters", "devices", "groups", "id", "reason")

    def __init__(
        self, pool_id: PoolId, devices: list[DeviceRecord], condition: Condition = Condition.USABLE, reason: str = ""
    ) -> None:
        self.id = pool_id
        self.devices = devices
        self.condition = condition
        self.reason = reason
        self.counters: CounterLedger | None = None
        self.groups: GroupLedger | None = None

    @property
    def binds(self) -> bool:
        """Tell whether a device has binding conditions, which moves the pool behind all others."""
        return any(device.spec.binding_conditions is not None for device in self.devices)


class PoolBuilder:
    """Gathers the pools of nodes, and builds each only once for all nodes that see the same slices of it."""

    def __init__(self, catalog: Catalog, rules: Rules) -> None:
        self._catalog = catalog
        self._rules = rules
        self._built: dict[tuple[int, ...], Pool] = {}
        self._ledgers: dict[frozenset[int], CounterLedger] = {}

    def gather(self, node: Node) -> list[Pool]:
        """Give the pools in search order. Raises ``AllocationFailed`` for a broken node selector or quantity."""
        kept: dict[PoolId, list[SliceRecord]] = {}
        for record in self._catalog.possible(node.metadata.name):
            if self._relevant(record, node):
                _keep_newest(kept, record)
        pools = [pool for pool_id, slices in kept.items() if (pool := self._pool(pool_id, slices)) is not None]
        if not self._rules.stable:
            pools.sort(key=lambda pool: (pool.binds, pool.id))
        return pools

    def _relevant(self, record: SliceRecord, node: Node) -> bool:
        spec = record.object.spec
        if not self._rules.partitionable and (spec.per_device_node_selection is not None or record.holds_counters):
            return False
        if record.uses_groups and not self._rules.groups:
            return False
        if record.holds_counters and self._rules.counter_slices_everywhere:
            return True
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            try:
                return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
            except InvalidInput as problem:
                raise _selection_failed(f"slice {record.name}", problem) from problem
        return bool(spec.per_device_node_selection) and any(_gathered(device, node) for device in record.devices)

    def _pool(self, pool_id: PoolId, slices: list[SliceRecord]) -> Pool | None:
        key = tuple(map(id, slices))
        if key in self._built:
            return self._built[key]
        first = slices[0]
        wanted, every = first.object.spec.pool.resource_slice_count, slices
        if len(slices) != wanted:
            every = self._catalog.of_pool(pool_id)
            if any(record.generation > first.generation for record in every):
                return None
            every = [record for record in every if record.generation == first.generation and self._counts(record)]
        complete = len(every) == wanted
        pool = self._build(pool_id, slices, every) if complete else Pool(pool_id, [], Condition.INCOMPLETE)
        self._built[key] = pool
        return pool

    def _counts(self, record: SliceRecord) -> bool:
        return self._rules.groups or not record.uses_groups

    def _build(self, pool_id: PoolId, slices: list[SliceRecord], every: list[SliceRecord]) -> Pool:
        if not self._rules.stable:
            slices = sorted(slices, key=lambda record: record.name)
        names = {record.name for record in slices}
        far = [record for record in every if record.name not in names] if len(slices) < len(every) else []
        if not self._rules.partitionable:
            devices = [device for record in slices for device in record.devices]
            return _invalid(pool_id, _duplicate(devices)) or Pool(pool_id, devices)
        devices = [device for record in slices if not record.holds_counters for device in record.devices]
        far_devices = [device for record in far if not record.holds_counters for device in record.devices]
        sets: dict[str, CounterSet] = {}
        reason = (
            _duplicate(devices)
            or _collect_sets(sets, (record for record in slices + far if record.holds_counters))
            or _unknown_counter(sets, devices)
            or _unknown_counter(sets, far_devices)
        )
        if reason:
            return Pool(pool_id, [], Condition.INVALID, reason)
        pool = Pool(pool_id, devices)
        if sets:
            pool.counters = self._ledger(slices + far, sets, devices + far_devices)
            pool.groups = GroupLedger(devices + far_devices) if self._rules.groups else None
        return pool

    def _ledger(
        self, slices: list[SliceRecord], sets: dict[str, CounterSet], devices: list[DeviceRecord]
    ) -> CounterLedger:
        key = frozenset(map(id, slices))
        if key not in self._ledgers:
            try:
                self._ledgers[key] = CounterLedger(sets, devices)
            except InvalidInput as problem:
                raise AllocationFailed(f"counters of pool {'/'.join(slices[0].pool_id)}: {problem}") from problem
        return self._ledgers[key]


def device_reaches(device: DeviceRecord, node: Node) -> bool:
    """Tell whether a device with a scope of its own can be used on the node. Raises ``InvalidInput``."""
    return node_matches(node, device.spec.node_name, device.spec.all_nodes, device.spec.node_selector)


def _gathered(device: DeviceRecord, node: Node) -> bool:
    try:
        return device_reaches(device, node)
    except InvalidInput as problem:
        raise _selection_failed(
            f"device {device.spec.name} in slice {device.slice.metadata.name}", problem
        ) from problem


def _selection_failed(what: str, problem: InvalidInput) -> AllocationFailed:
    return AllocationFailed(f"gather pool information: failed to perform node selection for {what}: {problem}")


def _keep_newest(kept: dict[PoolId, list[SliceRecord]], record: SliceRecord) -> None:
    slices = kept.get(record.pool_id)
    if slices is None or record.generation > slices[0].generation:
        kept[record.pool_id] = [record]
    elif record.generation == slices[0].generation:
        slices.append(record)


def _invalid(pool_id: PoolId, reason: str | None) -> Pool | None:
    return Pool(pool_id, [], Condition.INVALID, reason) if reason else None


def _duplicate(devices: Sequence[DeviceRecord]) -> str | None:
    seen: set[str] = set()
    for device in devices:
        if device.spec.name in seen:
            return f"duplicate device name {device.spec.name}"
        seen.add(device.spec.name)
    return None


def _collect_sets(sets: dict[str, CounterSet], slices: Iterable[SliceRecord]) -> str | None:
    for record in slices:
        for counters in record.object.spec.shared_counters or ():
            if counters.name in sets:
                return f"duplicate counter set name {counters.name}"
            sets[counters.name] = counters
    return None


def _unknown_counter(sets: dict[str, CounterSet], devices: Iterable[DeviceRecord]) -> str | None:
    for device in devices:
        for part in device.spec.consumes_counters or ():
            if part.counter_set not in sets:
                return f"counter set {part.counter_set} not found"
            for name in part.counters or ():
                if name not in (sets[part.counter_set].counters or {}):
                    return f"counter {name} not found in counter set {part.counter_set}"
    return None
