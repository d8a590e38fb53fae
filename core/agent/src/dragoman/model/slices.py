"""ResourceSlices as this driver wants them, apart from any API version."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman_hookspecs import CounterSet, Device

DEVICES_PER_SLICE = 128
"""Limit of the API for a slice whose devices have no taints, counters or list attributes."""
FEATURED_DEVICES_PER_SLICE = 64
"""Limit where any device of the slice has taints, counters or list attributes (Kubernetes 1.35)."""
COUNTER_SETS_PER_SLICE = 8
"""Limit of shared counter sets in one slice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSpec:
    """One slice: devices or counter sets, never both (Kubernetes 1.35).

    Attributes of the devices are complete (``pool`` and ``deviceManager`` included), taints include those of health.
    """

    devices: tuple[Device, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()
    partition_type_attribute: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec:
    """All slices of this node's pool, in a deterministic order. ``name`` is the node's name."""

    name: str
    slices: tuple[SliceSpec, ...]
