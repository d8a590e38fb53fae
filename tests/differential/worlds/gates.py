"""Feature gates as questions name them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.differential.worlds.dice import Dice

_SINCE = {
    # gate: (release that knows it, release with it on by default)
    "DRAAdminAccess": ("1.34", "1.34"),
    "DRAPrioritizedList": ("1.34", "1.34"),
    "DRAResourceClaimDeviceStatus": ("1.34", "1.34"),
    "DRAPartitionableDevices": ("1.34", "1.36"),
    "DRADeviceTaints": ("1.34", "1.36"),
    "DRAConsumableCapacity": ("1.34", "1.36"),
    "DRADeviceBindingConditions": ("1.34", "1.36"),
    "DRADeviceTaintRules": ("1.35", "1.37"),
    "DRAListTypeAttributes": ("1.36", ""),
    "DRANodeAllocatableResources": ("1.36", ""),
    "DRAPartitionableDevicesType": ("1.37", ""),
    "DRADerivedAttributes": ("1.37", ""),
    "DRADeviceCompatibilityGroups": ("1.37", ""),
    "DRAOptionalNodeOperations": ("1.37", ""),
    "DRAFractionalCapacityRange": ("1.37", ""),
}

_STABLE = {"DRAAdminAccess", "DRAPrioritizedList", "DRAPartitionableDevices", "DRADeviceTaints"}
_BINDING = {"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"}
_IN_ALLOCATOR = {
    *("DRAConsumableCapacity", "DRAListTypeAttributes", "DRADerivedAttributes", "DRADeviceCompatibilityGroups"),
    *("DRAOptionalNodeOperations", "DRAFractionalCapacityRange"),
}


@dataclass(frozen=True)
class Gates:
    """``value`` as it stands in a question; ``on``: what that means."""

    value: str | dict[str, bool]
    on: frozenset[str]

    @property
    def ordered(self) -> bool:
        """Tell whether upstream walks the pools in order; its oldest allocator takes them as a map gives them."""
        return bool(self.on & _IN_ALLOCATOR) or self.on >= _BINDING


def release(name: str) -> Gates:
    """Give a release's defaults."""
    return Gates(name, frozenset(gate for gate, (_, default) in _SINCE.items() if default and default <= name))


def every() -> Gates:
    """Give all gates on."""
    return Gates("all", frozenset(_SINCE))


def draw(dice: Dice) -> Gates:
    """Draw gates: mostly those of a default or an all-alpha cluster, and some with a few gates turned over."""
    chosen = dice.weighted({"1.37": 35.0, "all": 25.0, "turned": 32.0, "1.36": 4.0, "1.35": 2.0, "1.34": 2.0})
    if chosen == "all":
        return every()
    if chosen != "turned":
        return release(chosen)
    on = set(dice.one([every(), release("1.37")]).on)
    on ^= set(dice.some(sorted(_SINCE), 1, 3))
    return Gates({gate: gate in on for gate in _SINCE}, frozenset(on))
