"""What a pod and its containers need of a node, claims included (KEP-5517; sidecars as in KEP-753)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dragoman_allocator import quantity
from dragoman_allocator.accounting import lists
from dragoman_allocator.accounting.lists import Amounts
from dragoman_allocator.objects import Container, Pod, RawQuantity
from dragoman_allocator.objects.pods import NodeAllocatableClaimStatus, ResourceRequirements
from dragoman_allocator.quantity import Quantity

Part = Callable[[ResourceRequirements], Mapping[str, RawQuantity] | None]


def pod_requests(pod: Pod, *, claims: bool, pod_level: bool = True) -> Amounts:
    """Give what the scheduler charges a pod for.

    ``claims``: with the amounts of ``status.nodeAllocatableResourceClaimStatuses``. ``pod_level``: with
    ``spec.resources``, which replace everything but the pod's overhead.
    """
    requests = container_requests(pod, claims=claims)
    if pod_level and pod.spec.resources is not None:
        stated = lists.read(pod.spec.resources.requests)
        requests |= {name: amount for name, amount in stated.items() if lists.is_pod_level(name)}
    lists.add(requests, lists.read(pod.spec.overhead))
    return requests


def pod_limits(pod: Pod, *, claims: bool, pod_level: bool = True) -> Amounts:
    """Give the limits of a pod; the overhead adds to limits that are not zero. Arguments as of ``pod_requests``."""
    limits = container_limits(pod, claims=claims)
    if pod_level and pod.spec.resources is not None:
        stated = lists.read(pod.spec.resources.limits)
        limits |= {name: amount for name, amount in stated.items() if lists.is_pod_level(name)}
    overhead = lists.read(pod.spec.overhead)
    lists.add(limits, {name: amount for name, amount in overhead.items() if limits.get(name)})
    return limits


def container_requests(pod: Pod, *, claims: bool) -> Amounts:
    """Give what all containers request together, plus what the claims need if ``claims``."""
    requests = _together(pod, lambda resources: resources.requests)
    if claims:
        _charge_claims(requests, pod)
    return requests


def container_limits(pod: Pod, *, claims: bool) -> Amounts:
    """Give the limits of all containers together; what claims need adds to those that are stated, and to hugepages."""
    limits = _together(pod, lambda resources: resources.limits)
    if claims:
        needed: Amounts = {}
        _charge_claims(needed, pod)
        for name, amount in needed.items():
            if name in limits or name.startswith(lists.HUGEPAGES):
                lists.charge(limits, name, amount)
    return limits


def container_claims(pod: Pod, container: str) -> Amounts:
    """Give what one container gets through the claims it names: the pod's part and its own part of each."""
    total: Amounts = {}
    for status in _statuses(pod):
        if container not in (status.containers or ()):
            continue
        for mapping in status.mapping or ():
            lists.charge(total, mapping.name, quantity.parse(mapping.quantity))
        for overhead in status.overhead or ():
            lists.charge(total, overhead.name, _overhead(overhead.per_pod, overhead.per_container, 1))
    return total


def _charge_claims(total: Amounts, pod: Pod) -> None:
    for status in _statuses(pod):
        for mapping in status.mapping or ():
            lists.charge(total, mapping.name, quantity.parse(mapping.quantity))
        for overhead in status.overhead or ():
            users = len(status.containers or ())
            lists.charge(total, overhead.name, _overhead(overhead.per_pod, overhead.per_container, users))


def _statuses(pod: Pod) -> list[NodeAllocatableClaimStatus]:
    return pod.status.node_allocatable_resource_claim_statuses or []


def _overhead(per_pod: RawQuantity | None, per_container: RawQuantity | None, containers: int) -> Quantity:
    amount = lists.ZERO
    if per_pod is not None:
        amount = amount + quantity.parse(per_pod)
    if per_container is not None and containers:
        amount = amount + quantity.parse(per_container) * containers
    return amount


def _together(pod: Pod, part: Part) -> Amounts:
    """Add up containers and sidecars; an ordinary init container counts only where its peak is higher."""
    total: Amounts = {}
    for container in pod.spec.containers or ():
        lists.add(total, lists.read(part(container.resources)))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers or ():
        own = lists.read(part(container.resources))
        if _is_sidecar(container):
            lists.add(total, own)
            lists.add(sidecars, own)
            lists.raise_to(peak, sidecars)
        else:
            lists.add(own, sidecars)
            lists.raise_to(peak, own)
    lists.raise_to(total, peak)
    return total


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"
