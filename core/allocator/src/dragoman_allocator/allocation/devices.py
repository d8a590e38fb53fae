"""Slices and devices as the search reads them: everything that does not depend on the attempt, worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from dragoman_allocator.allocation.rules import Rules
from dragoman_allocator.allocation.taints import blocking, rules_for
from dragoman_allocator.allocation.use import AllocatedState
from dragoman_allocator.objects import Device, DeviceTaintRule, ResourceSlice
from dragoman_allocator.quantity import parse

Consumption = tuple[tuple[str, str, int], ...]
"""Counter set, counter and amount in units of 1n."""


class DeviceLedger(Protocol):
    """What keeps account of the devices of a pool."""

    def settle(self, device: DeviceRecord, sign: int) -> None:
        """Take note that the device is allocated now (1), or no longer (-1)."""


class DeviceRecord:
    """One device of one slice."""

    __slots__ = (
        "blocking",
        "consumes",
        "id",
        "ledgers",
        "per_device",
        "shareable",
        "skips",
        "slice",
        "spec",
        "unbindable",
        "use",
    )

    def __init__(self, spec: Device, slice_: ResourceSlice, state: AllocatedState, rules: Rules) -> None:
        self.spec = spec
        self.slice = slice_
        self.id = (slice_.spec.driver, slice_.spec.pool.name, spec.name)
        self.use = state.of(self.id)
        self.use.watchers.append(self)
        self.ledgers: list[DeviceLedger] = []
        self.blocking = blocking(spec.taints or ()) if rules.taints else ()
        self.consumes = bool(spec.consumes_counters)
        self.shareable = rules.capacity and bool(spec.allow_multiple_allocations)
        self.unbindable = not rules.binding and bool(spec.binding_conditions)
        self.per_device = bool(slice_.spec.per_device_node_selection)
        self.skips = bool(slice_.spec.skip_node_operations)

    @property
    def path(self) -> str:
        """The device as errors name it: ``driver/pool/device``."""
        return "/".join(self.id)

    def settle(self, sign: int) -> None:
        """Pass on to the ledgers that the device is allocated now (1), or no longer (-1)."""
        for ledger in self.ledgers:
            ledger.settle(self, sign)

    def consumption(self) -> Consumption:
        """Give what the device takes from counters. Raises ``InvalidInput`` for a broken quantity."""
        return tuple(
            (part.counter_set, name, parse(counter.value).nanos)
            for part in self.spec.consumes_counters or ()
            for name, counter in (part.counters or {}).items()
        )


class SliceRecord:
    """One slice and, once they are needed, its devices."""

    def __init__(
        self, spec: ResourceSlice, taint_rules: Sequence[DeviceTaintRule], state: AllocatedState, rules: Rules
    ) -> None:
        self.object = spec
        self.name = spec.metadata.name
        self.pool_id = (spec.spec.driver, spec.spec.pool.name)
        self.generation = spec.spec.pool.generation
        self._taint_rules = taint_rules
        self._state = state
        self._rules = rules

    @cached_property
    def devices(self) -> list[DeviceRecord]:
        """The devices in slice order, with the taints of rules after their own."""
        records = [
            DeviceRecord(device, self.object, self._state, self._rules) for device in self.object.spec.devices or ()
        ]
        if self._taint_rules and self._rules.taints and self._rules.taint_rules:
            for name, taint in rules_for(self._taint_rules, self.object, fixed=self._rules.fixed):
                for record in records:
                    if name in (None, record.spec.name):
                        record.blocking += blocking((taint,))
        return records

    @cached_property
    def uses_groups(self) -> bool:
        """Tell whether a device declares compatibility groups."""
        return any(
            part.compatibility_groups
            for device in self.object.spec.devices or ()
            for part in device.consumes_counters or ()
        )

    @cached_property
    def holds_counters(self) -> bool:
        """Tell whether the slice declares counter sets, and so no devices of its own."""
        return bool(self.object.spec.shared_counters)


class Catalog:
    """All slices, by node and by pool."""

    def __init__(
        self,
        slices: Sequence[ResourceSlice],
        taint_rules: Sequence[DeviceTaintRule],
        state: AllocatedState,
        rules: Rules,
    ) -> None:
        self.rules = rules
        self._all = [SliceRecord(spec, taint_rules, state, rules) for spec in slices]
        self._by_node: dict[str, list[SliceRecord]] = {}
        self._by_pool: dict[tuple[str, str], list[SliceRecord]] = {}
        for record in self._all:
            self._by_node.setdefault(record.object.spec.node_name or "", []).append(record)
            self._by_pool.setdefault(record.pool_id, []).append(record)

    def possible(self, node_name: str) -> list[SliceRecord]:
        """Give the slices that may concern a node, in the order in which the running copy looks at them."""
        if self.rules.stable:
            return self._all
        own = self._by_node.get(node_name, []) if node_name else []
        return own + self._by_node.get("", [])

    def of_pool(self, pool_id: tuple[str, str]) -> list[SliceRecord]:
        """Give all slices of a pool, of every generation and node, in the order given."""
        return self._by_pool.get(pool_id, [])
