"""Node-allocatable resources of a device as the API takes them (Kubernetes 1.37)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dragoman.model.capacities import amount
from dragoman.model.slice_attributes import Warn
from dragoman_allocator.quantity import InvalidQuantity
from dragoman_hookspecs import NodeAllocatable, NodeAllocatableMapping, NodeAllocatableOverhead


def fit_node_allocatable(
    resources: Mapping[str, NodeAllocatable], capacity: Collection[str], warn: Warn
) -> dict[str, NodeAllocatable]:
    """Give the entries that the API takes, by resource name; ``capacity`` are the device's capacity names."""
    good: dict[str, NodeAllocatable] = {}
    for resource, entry in sorted(resources.items()):
        if fault := node_allocatable_fault(resource, entry, capacity):
            warn(f"node-allocatable resource {resource}", f"dropped: {fault}")
        else:
            good[resource] = entry
    return good


def node_allocatable_fault(resource: str, entry: NodeAllocatable, capacity: Collection[str]) -> str:
    """Say why the API would refuse the entry, or ""."""
    if resource not in {"cpu", "memory"} and not resource.startswith("hugepages-"):
        return "only cpu, memory and hugepages-… are node-allocatable"
    if entry.mapping is None and entry.overhead is None:
        return "it needs a mapping or an overhead"
    try:
        return (_mapping_fault(entry.mapping, capacity) if entry.mapping else "") or (
            _overhead_fault(entry.overhead) if entry.overhead else ""
        )
    except InvalidQuantity as error:
        return str(error)


def _mapping_fault(mapping: NodeAllocatableMapping, capacity: Collection[str]) -> str:
    if (mapping.capacity_key is None) != (mapping.capacity_multiplier is None):
        return "a capacity key and its multiplier need each other"
    if (mapping.capacity_key is None) == (mapping.device_multiplier is None):
        return "a mapping has either a capacity key with its multiplier or a device multiplier"
    if mapping.capacity_key is not None and mapping.capacity_key not in capacity:
        return f"the device has no capacity of the name {mapping.capacity_key}, spelt exactly so"
    if amount(mapping.capacity_multiplier or mapping.device_multiplier or "").sign <= 0:
        return "a multiplier must be larger than 0"
    return ""


def _overhead_fault(overhead: NodeAllocatableOverhead) -> str:
    given = [text for text in (overhead.per_pod, overhead.per_container) if text is not None]
    if not given:
        return "an overhead is for each pod or for each container"
    return "an overhead cannot be negative" if any(amount(text).sign < 0 for text in given) else ""
