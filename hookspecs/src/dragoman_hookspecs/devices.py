"""What a device manager discovers: devices, counter sets, and how pool filters see a device.

Field names and limits follow the ResourceSlice of resource.k8s.io/v1. Core checks the limits when it publishes;
a value that the API would reject is cut or dropped with a warning and never costs the other devices their slice.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Version:
    """An attribute value that is a semantic version (semver 2.0.0), e.g. ``Version("1.2.3")``."""

    text: str


AttributeValue = bool | int | str | Version | tuple[bool, ...] | tuple[int, ...] | tuple[str, ...] | tuple[Version, ...]
"""One value of a device attribute. Tuples need the list attributes of Kubernetes 1.36 and must not be empty."""


class Match(enum.Enum):
    """How a device answers a pool filter field for which it has no value."""

    ALWAYS = "always"
    """The field does not concern this kind of device; any value in the filter matches."""
    NEVER = "never"
    """The field cannot describe this device; a filter that uses it never matches."""


FilterValue = str | frozenset[str] | Match
"""A value to compare, several values of which one must be listed, or a constant answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicy:
    """How much of a capacity one request may consume (``capacity[].requestPolicy``). Quantities are strings."""

    default: str | None = None
    valid_values: tuple[str, ...] = ()
    minimum: str | None = None
    maximum: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """A named capacity of a device; ``value`` is a Kubernetes quantity such as ``"4"`` or ``"10G"``."""

    value: str
    policy: RequestPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSet:
    """A set of shared counters (``spec.sharedCounters[]``); counter name to quantity."""

    name: str
    counters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterConsumption:
    """What a device takes from one counter set while it is allocated (``consumesCounters[]``)."""

    counter_set: str
    counters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A device taint; ``effect`` is ``None``, ``NoSchedule`` or ``NoExecute`` as a string."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAllocatableMapping:
    """The device itself models a node resource: by consumed capacity (key and multiplier) or by device count.

    Exactly one of ``capacity_multiplier`` (together with ``capacity_key``) and ``device_multiplier`` is set.
    """

    capacity_key: str | None = None
    capacity_multiplier: str | None = None
    device_multiplier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAllocatableOverhead:
    """What using the device costs on the node beside it. At least one is set; quantities are strings."""

    per_pod: str | None = None
    per_container: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAllocatable:
    """One entry of ``nodeAllocatableResources``; at least one of mapping and overhead is set."""

    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device as its manager advertises it.

    ``name``: DNS label, unique on the node; it need not be a kernel name.
    ``identity``: what survives rename and re-index (PCI address, permanent MAC, or the tag of a link that Dragoman
    makes). It is verified before every move and restore.
    ``link``: the host interface that is moved into a pod when this device is attached, if that interface exists
    already; None for a device whose link is made at setup or that is not moved. Core uses it to keep the uplink of a
    default route, and the links it is made of, out of the published devices.
    ``filter_values``: answers to the pool filter fields ``ifNames``, ``pfNames``, ``parentIfNames``, ``pciAddrs``,
    ``vendorIDs``, ``deviceIDs`` and ``drivers``; a field that is absent here never matches.
    ``node_allocatable``: node resource name (``cpu``, ``memory``, ...) to mapping and overhead.

    Core adds the attributes ``pool`` and ``deviceManager`` and owns these two names.
    """

    name: str
    identity: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    capacity: Mapping[str, Capacity] = field(default_factory=dict)
    allow_multiple_allocations: bool = False
    counters: tuple[CounterConsumption, ...] = ()
    taints: tuple[Taint, ...] = ()
    node_allocatable: Mapping[str, NodeAllocatable] = field(default_factory=dict)
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    filter_values: Mapping[str, FilterValue] = field(default_factory=dict)
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The complete list of what a manager sees now.

    ``counter_sets`` are published in slices of their own. ``partition_type_attribute`` names the string attribute
    that tells the partition type of this manager's devices (``spec.partitionTypeAttribute``, Kubernetes 1.37).
    """

    devices: tuple[Device, ...]
    counter_sets: tuple[CounterSet, ...] = ()
    partition_type_attribute: str | None = None
