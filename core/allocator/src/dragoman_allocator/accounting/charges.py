"""What the claims of a pod add to its needs on a node: ``status.nodeAllocatableResourceClaimStatuses`` (KEP-5517)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from dragoman_allocator import quantity
from dragoman_allocator.accounting import lists
from dragoman_allocator.accounting.devices import DeviceGone, Devices
from dragoman_allocator.accounting.lists import Amounts
from dragoman_allocator.errors import AllocatorError
from dragoman_allocator.objects import AllocationResult, DeviceResult, Pod, RawQuantity, ResourceClaim
from dragoman_allocator.objects.pods import ClaimMapping, ClaimOverhead, NodeAllocatableClaimStatus
from dragoman_allocator.objects.slices import NodeAllocatableMapping, NodeAllocatableOverhead
from dragoman_allocator.quantity import Quantity

_ONE = quantity.parse("1")


class UnknownCharge(AllocatorError):
    """What a claim adds cannot be known: a device is gone, or its result lacks the capacity that is counted."""


@dataclass(frozen=True, slots=True)
class AllocatedClaim:
    """A claim of a pod, by the pod's names for it, with the allocation it has or would get."""

    claim: ResourceClaim
    allocation: AllocationResult | None
    names: Sequence[str]

    @property
    def results(self) -> Sequence[DeviceResult]:
        """The allocated devices."""
        return self.allocation.devices.results or () if self.allocation else ()


def charges(pod: Pod, claims: Iterable[AllocatedClaim], devices: Devices) -> list[NodeAllocatableClaimStatus]:
    """Give what each claim adds, by claim name; claims that add nothing are left out.

    A claim none of whose devices is found and has ``nodeAllocatableResources`` adds nothing. Raises ``UnknownCharge``.
    """
    found = [_charge(pod, each, devices) for each in claims if contributes(each.results, devices)]
    return sorted((each for each in found if each is not None), key=lambda status: status.resource_claim_name)


def charged(pod: Pod, statuses: list[NodeAllocatableClaimStatus] | None) -> Pod:
    """Give the pod with what its claims add in its status."""
    return replace(pod, status=replace(pod.status, node_allocatable_resource_claim_statuses=statuses))


def contributes(results: Iterable[DeviceResult], devices: Devices, *, mapped: bool = False) -> bool:
    """Tell whether a device that is found adds something, or maps a resource if ``mapped``."""
    for result in results:
        try:
            resources = devices.find(result).node_allocatable_resources
        except DeviceGone:
            continue
        if resources and (not mapped or any(each.mapping is not None for each in resources.values())):
            return True
    return False


@dataclass(slots=True)
class _Sums:
    mapping: Amounts = field(default_factory=dict)
    overhead: dict[str, tuple[Quantity | None, Quantity | None]] = field(default_factory=dict)

    def add_mapping(self, name: str, mapping: NodeAllocatableMapping, result: DeviceResult, about: str) -> None:
        if mapping.capacity_key:
            if result.consumed_capacity is None:
                raise UnknownCharge(
                    f"{about}: ConsumedCapacity is nil, but Capacity key '{mapping.capacity_key}' is set in "
                    f"NodeAllocatableResources for resource {name}"
                )
            if mapping.capacity_key in result.consumed_capacity:
                consumed = quantity.parse(result.consumed_capacity[mapping.capacity_key])
                lists.charge(self.mapping, name, _times(consumed, mapping.capacity_multiplier))
        elif mapping.device_multiplier is not None:
            lists.charge(self.mapping, name, quantity.parse(mapping.device_multiplier))

    def add_overhead(self, name: str, overhead: NodeAllocatableOverhead) -> None:
        if overhead.per_pod is None and overhead.per_container is None:
            return
        per_pod, per_container = self.overhead.get(name, (None, None))
        self.overhead[name] = _plus(per_pod, overhead.per_pod), _plus(per_container, overhead.per_container)


def _charge(pod: Pod, claim: AllocatedClaim, devices: Devices) -> NodeAllocatableClaimStatus | None:
    metadata, sums = claim.claim.metadata, _Sums()
    for result in claim.results:
        about = f"claim {metadata.namespace}/{metadata.name}, device {result.device}"
        try:
            device = devices.find(result)
        except DeviceGone as gone:
            raise UnknownCharge(f"{about}, driver {result.driver}: {gone}") from gone
        for name, resource in (device.node_allocatable_resources or {}).items():
            if resource.mapping is not None:
                sums.add_mapping(name, resource.mapping, result, about)
            if resource.overhead is not None:
                sums.add_overhead(name, resource.overhead)
    if not sums.mapping and not sums.overhead:
        return None
    return NodeAllocatableClaimStatus(
        resource_claim_name=metadata.name,
        containers=_users(pod, claim.names),
        mapping=[ClaimMapping(name=name, quantity=total) for name, total in sorted(sums.mapping.items())],
        overhead=_overheads(sums.overhead),
    )


def _overheads(sums: Mapping[str, tuple[Quantity | None, Quantity | None]]) -> list[ClaimOverhead]:
    return [
        ClaimOverhead(
            name=name,
            per_pod=per_pod,
            per_container=per_container,
        )
        for name, (per_pod, per_container) in sorted(sums.items())
    ]


def _users(pod: Pod, names: Sequence[str]) -> list[str]:
    """Name the container of each reference to the claim; init containers first, one entry for each reference."""
    containers = [*(pod.spec.init_containers or ()), *(pod.spec.containers or ())]
    return [
        container.name
        for container in containers
        for reference in container.resources.claims or ()
        if reference.name in names
    ]


def _times(amount: Quantity, factor: RawQuantity | None) -> Quantity:
    if factor is None or (multiplier := quantity.parse(factor)) == _ONE:
        return amount
    return amount * multiplier


def _plus(total: Quantity | None, more: RawQuantity | None) -> Quantity | None:
    if more is None:
        return total
    amount = quantity.parse(more)
    return amount if total is None else total + amount
