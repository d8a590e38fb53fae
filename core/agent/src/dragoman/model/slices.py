"""ResourceSlices as this driver wants them, apart from any API version."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dragoman.model.slice_attributes import has_lists
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A device to be placed into a slice, and the partition type attribute that its slice must have, if any."""

    device: Device
    partition_type: str | None = None


def split(name: str, devices: Iterable[Placed], counter_sets: Iterable[CounterSet] = ()) -> PoolSpec:
    """Spread a pool over slices within the limits of the API; nothing at all gives one empty slice.

    The slices depend on what is in them and on nothing else: not on the order of the arguments, and not on an earlier
    split, so a restarted agent finds what it wrote. Devices that halve the limit of a slice are kept together while
    there are more than fit one slice; a small pool stays one slice even when a taint comes and goes.
    """
    ordered = sorted(devices, key=lambda placed: placed.device.name)
    sets = sorted(counter_sets, key=lambda item: item.name)
    slices = [SliceSpec(counter_sets=tuple(chunk)) for chunk in _chunks(sets, COUNTER_SETS_PER_SLICE)]
    for partition_type in sorted({placed.partition_type for placed in ordered}, key=lambda key: key or ""):
        group = [placed.device for placed in ordered if placed.partition_type == partition_type]
        slices += [
            SliceSpec(devices=tuple(bucket), partition_type_attribute=partition_type) for bucket in _buckets_of(group)
        ]
    return PoolSpec(name=name, slices=tuple(slices) or (SliceSpec(),))


def is_featured(device: Device) -> bool:
    """Tell whether the device halves the limit of its slice."""
    return bool(device.taints or device.counters) or has_lists(device.attributes)


def _buckets_of(devices: Sequence[Device]) -> list[Sequence[Device]]:
    if len(devices) <= FEATURED_DEVICES_PER_SLICE:
        return [devices] if devices else []
    plain = [device for device in devices if not is_featured(device)]
    featured = [device for device in devices if is_featured(device)]
    return _buckets(plain, DEVICES_PER_SLICE) + _buckets(featured, FEATURED_DEVICES_PER_SLICE)


def _buckets(devices: Sequence[Device], limit: int, depth: int = 0) -> list[Sequence[Device]]:
    """Halve by the bits of a hash of the name until each part fits.

    Filling slices in name order would shift every later slice when a device comes or goes. By hash, one device more
    changes the one slice that it falls into, or splits that one.
    """
    if len(devices) <= limit:
        return [devices] if devices else []
    halves: tuple[list[Device], list[Device]] = ([], [])
    for device in devices:
        digest = int.from_bytes(hashlib.sha256(device.name.encode()).digest())
        halves[digest >> depth & 1].append(device)
    return _buckets(halves[0], limit, depth + 1) + _buckets(halves[1], limit, depth + 1)


def _chunks(items: Sequence[CounterSet], size: int) -> Iterable[Sequence[CounterSet]]:
    return (items[start : start + size] for start in range(0, len(items), size))
