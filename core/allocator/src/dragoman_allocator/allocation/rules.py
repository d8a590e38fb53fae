"""Which copy of the scheduler's allocator runs for a set of gates, and what it does (api-semantics 2.1, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from dragoman_allocator.features import Features

RESULTS_LIMIT = 32
"""Results that one claim can hold (``AllocationResultsMaxSize`` of resource.k8s.io)."""

_EXPERIMENTAL = (
    "DRAListTypeAttributes",
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAOptionalNodeOperations",
)
_INCUBATING = ("DRAConsumableCapacity", "DRAFractionalCapacityRange")


class Copy(IntEnum):
    """The three copies of the allocator in Kubernetes 1.34 and later; each adds to the one before."""

    STABLE = 0
    INCUBATING = 1
    EXPERIMENTAL = 2


@dataclass(frozen=True, slots=True)
class Rules:
    """The switches of one allocator; a feature that the running copy does not have is off."""

    copy: Copy
    admin_access: bool
    prioritized_list: bool
    partitionable: bool
    taints: bool
    taint_rules: bool
    binding: bool
    capacity: bool
    fractional: bool
    lists: bool
    derived: bool
    groups: bool
    node_operations: bool
    fixed: bool
    """Rules of 1.37.2 rather than those of 1.36.2 where a change had no gate."""

    @classmethod
    def of(cls, features: Features) -> Self:
        """Read the gates and choose the copy."""
        on = features.on
        binding = on("DRADeviceBindingConditions") and on("DRAResourceClaimDeviceStatus")
        return cls(
            copy=_copy(features, binding=binding),
            admin_access=on("DRAAdminAccess"),
            prioritized_list=on("DRAPrioritizedList"),
            partitionable=on("DRAPartitionableDevices"),
            taints=on("DRADeviceTaints"),
            taint_rules=on("DRADeviceTaintRules"),
            binding=binding,
            capacity=on("DRAConsumableCapacity"),
            fractional=on("DRAFractionalCapacityRange"),
            lists=on("DRAListTypeAttributes"),
            derived=on("DRADerivedAttributes"),
            groups=on("DRADeviceCompatibilityGroups"),
            node_operations=on("DRAOptionalNodeOperations"),
            fixed=features.since("1.37"),
        )

    @property
    def stable(self) -> bool:
        """Tell whether the oldest copy runs: it sorts nothing, tries permutations, knows no bindsToNode."""
        return self.copy is Copy.STABLE

    @property
    def counter_slices_everywhere(self) -> bool:
        """Tell whether slices with counters matter on every node, whatever their scope."""
        return self.stable or not self.fixed


def _copy(features: Features, *, binding: bool) -> Copy:
    if any(map(features.on, _EXPERIMENTAL)):
        return Copy.EXPERIMENTAL
    if binding or any(map(features.on, _INCUBATING)):
        return Copy.INCUBATING
    return Copy.STABLE
