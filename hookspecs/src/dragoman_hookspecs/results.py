"""Results of hooks that are not a device, an allocation or an attachment."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from dragoman_hookspecs.allocations import Prepared


class Health(enum.Enum):
    """Health of a device as the kubelet shows it (DRAResourceHealth)."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """Health of one device. ``timeout`` in seconds: without a new report for so long the health is unknown."""

    device: str
    health: Health
    message: str = ""
    timeout: float = 30.0


class Recovery(enum.Enum):
    """What became of a prepared device."""

    INTACT = "intact"
    """It is as the record says."""
    RESTORED = "restored"
    """It was made again, for the same logical allocation; ``prepared`` holds the new state."""
    LOST = "lost"
    """It cannot be had again; ``message`` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """Answer for one record of ``recover_devices``, in the order of the records."""

    outcome: Recovery
    prepared: Prepared | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenMetadata:
    """Result of ``write_metadata``: CDI device ids for each request (top-level request name)."""

    cdi_devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
