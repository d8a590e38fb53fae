"""Feature gates of Kubernetes 1.34 to 1.37, and which release's rules apply (KEP-4381 and its follow-ups)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from dragoman_allocator.errors import InvalidInput

RELEASES: Final = ("1.34", "1.35", "1.36", "1.37")
NEWEST: Final = RELEASES[-1]

_SINCE: Final[Mapping[str, tuple[str | None, str]]] = {
    # gate: (first release where it is on by default, first release that knows it)
    "DynamicResourceAllocation": ("1.34", "1.34"),
    "DRAAdminAccess": ("1.34", "1.34"),
    "DRAPrioritizedList": ("1.34", "1.34"),
    "DRAResourceClaimDeviceStatus": ("1.34", "1.34"),
    "DRASchedulerFilterTimeout": ("1.34", "1.34"),
    "DRAPartitionableDevices": ("1.36", "1.34"),
    "DRADeviceTaints": ("1.36", "1.34"),
    "DRAConsumableCapacity": ("1.36", "1.34"),
    "DRADeviceBindingConditions": ("1.36", "1.34"),
    "DRAExtendedResource": ("1.36", "1.34"),
    "ResourceHealthStatus": ("1.36", "1.34"),
    "DRADeviceTaintRules": ("1.37", "1.35"),
    "DRAResourceClaimGranularStatusAuthorization": ("1.36", "1.36"),
    "ResourceHealthStatusMessage": ("1.36", "1.36"),
    "DRAListTypeAttributes": (None, "1.36"),
    "DRANodeAllocatableResources": (None, "1.36"),
    "DRAResourcePoolStatus": (None, "1.36"),
    "DRAWorkloadResourceClaims": (None, "1.36"),
    "DRAPartitionableDevicesType": (None, "1.37"),
    "DRADerivedAttributes": (None, "1.37"),
    "DRADeviceCompatibilityGroups": (None, "1.37"),
    "DRAOptionalNodeOperations": (None, "1.37"),
    "DRAFractionalCapacityRange": (None, "1.37"),
}


def known_gates(release: str = NEWEST) -> frozenset[str]:
    """Give the gates that the release knows."""
    return frozenset(gate for gate, (_, known) in _SINCE.items() if known <= release)


def default_gates(release: str = NEWEST) -> frozenset[str]:
    """Give the gates that are on in a cluster of the release with default settings."""
    return frozenset(gate for gate, (on, _) in _SINCE.items() if on is not None and on <= release)


@dataclass(frozen=True, slots=True)
class Features:
    """Gates that are on, and the release whose rules hold where code changed without a gate.

    ``rules`` is ``"1.37"`` (as fixed in 1.37.2) or ``"1.36"`` and earlier (as in 1.36.2, with its known faults).
    """

    gates: frozenset[str] = field(default_factory=default_gates)
    rules: str = NEWEST

    @classmethod
    def of(cls, value: str | Mapping[str, bool | None] | None) -> Self:
        """Read ``"1.36"`` (that release's default gates), ``"all"``, or gates by name over the newest defaults.

        A gate that is None (null in JSON) is off.
        The rules stay those of the newest release. Raises ``InvalidInput`` for a release or gate that is not known.
        """
        if value is None:
            return cls()
        if isinstance(value, str):
            if value == "all":
                return cls(known_gates())
            return cls(default_gates(_release(value)))
        if not isinstance(value, Mapping):
            raise InvalidInput(f"features are a release, all, or gates by name, not {type(value).__name__}")
        for gate, on in value.items():
            if gate not in _SINCE:
                raise InvalidInput(f"feature gate {gate[:100]} is not known: {', '.join(sorted(_SINCE))}")
            if not isinstance(on, bool | None):
                raise InvalidInput(f"feature gate {gate} is neither true nor false")
        return cls((default_gates() | {g for g, on in value.items() if on}) - {g for g, on in value.items() if not on})

    @classmethod
    def of_release(cls, release: str) -> Self:
        """Give default gates and rules of a release such as ``"1.36"``. Raises ``InvalidInput``."""
        return cls(default_gates(_release(release)), release)

    def on(self, gate: str) -> bool:
        """Tell whether the gate is on."""
        return gate in self.gates

    def since(self, release: str) -> bool:
        """Tell whether the rules are those of this release or a later one."""
        return self.rules >= release


def _release(text: str) -> str:
    if text not in RELEASES:
        raise InvalidInput(f"{text!r} is not a known release: {', '.join(RELEASES)}")
    return text
