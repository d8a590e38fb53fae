"""What one node offers, and the devices of it that a request may take as far as a search has come."""

from __future__ import annotations

from dragoman_allocator.allocation.capacity import Amounts, Demand
from dragoman_allocator.allocation.checks import Check
from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.pools import Condition, Pool, device_reaches
from dragoman_allocator.allocation.selectors import Chain, SelectorFailed
from dragoman_allocator.allocation.wanted import Wanted
from dragoman_allocator.errors import AllocationFailed, InvalidInput
from dragoman_allocator.objects import Node

Member = tuple[DeviceRecord, Pool, Amounts | None]
"""A device, its pool and what the request takes of it; None where that was not looked at yet."""


class NodeView:
    """Pools and devices of one node, kept from attempt to attempt."""

    def __init__(self, node: Node, pools: list[Pool]) -> None:
        self.node = node
        self.pools = pools
        self.candidates = [(device, pool) for pool in pools for device in pool.devices]
        self.has_invalid_pool = any(pool.condition is Condition.INVALID for pool in pools)
        self._reached: dict[DeviceRecord, bool] = {}
        self._selections: dict[tuple[Chain, Demand], Selection] = {}

    def selection(self, wanted: Wanted, *, fresh: bool = False) -> Selection:
        """Give what is known about the devices for such a request; ``fresh`` forgets it, so refusals are seen again."""
        key = (wanted.chain, wanted.demand)
        selection = None if fresh else self._selections.get(key)
        if selection is None:
            selection = self._selections[key] = Selection(self)
        return selection

    def examine(self, wanted: Wanted, device: DeviceRecord) -> Amounts | Check:
        """Check what does not depend on other devices: selectors, the device's own scope, the capacity asked for.

        Raises ``AllocationFailed``.
        """
        if device.unbindable:
            return Check.BINDING_CONDITIONS
        try:
            failed = wanted.chain.first_false(device)
        except SelectorFailed as problem:
            owner = f"class {wanted.class_name}" if problem.of_class else f"claim {wanted.claim_name}"
            raise AllocationFailed(f"{owner}: {problem}") from problem
        if failed is not None:
            return Check.CLASS_SELECTOR if failed[0] else Check.REQUEST_SELECTOR
        if device.per_device and not self._reaches(device):
            return Check.NODE
        return self._amounts(wanted, device)

    def _reaches(self, device: DeviceRecord) -> bool:
        if device not in self._reached:
            try:
                self._reached[device] = device_reaches(device, self.node)
            except InvalidInput as problem:
                raise AllocationFailed(str(problem)) from problem
        return self._reached[device]

    def _amounts(self, wanted: Wanted, device: DeviceRecord) -> Amounts | Check:
        try:
            amounts = wanted.demand.on(device)
        except InvalidInput as problem:
            name = device.spec.name if wanted.takes_all else device.path
            raise AllocationFailed(f"{wanted.where}: checking capacity for device {name}: {problem}") from problem
        return Check.CAPACITY_UNFIT if amounts is None else amounts


class Selection:
    """The devices of a node that pass ``NodeView.examine``, in search order, found only as a search gets to them.

    A device in use is put in unexamined: its selectors may fail the attempt, and must not while nobody can take it.
    """

    __slots__ = ("_scanned", "_view", "members")

    def __init__(self, view: NodeView) -> None:
        self._view = view
        self._scanned = 0
        self.members: list[Member | None] = []

    def extend(self, wanted: Wanted) -> bool:
        """Find one more member; False at the end of the node's devices. Raises ``AllocationFailed``."""
        candidates = self._view.candidates
        while self._scanned < len(candidates):
            device, pool = candidates[self._scanned]
            amounts = None
            if not wanted.blocked(device.use):
                found = self._view.examine(wanted, device)
                if isinstance(found, Check):
                    wanted.report(device.id, found)
                    self._scanned += 1
                    continue
                amounts = found
            self._scanned += 1
            self.members.append((device, pool, amounts))
            return True
        return False

    def settle(self, position: int, wanted: Wanted) -> Amounts | None:
        """Examine a member that was in use before; None where it is none after all. Raises ``AllocationFailed``."""
        member = self.members[position]
        assert member is not None
        device, pool, _ = member
        found = self._view.examine(wanted, device)
        if isinstance(found, Check):
            wanted.report(device.id, found)
            self.members[position] = None
            return None
        self.members[position] = (device, pool, found)
        return found
