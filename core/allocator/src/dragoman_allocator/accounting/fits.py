"""Whether a pod with its claims fits what a node has left, and what the pod as a whole may use (KEP-5517, KEP-2837)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dragoman_allocator.accounting import footprint, lists
from dragoman_allocator.accounting.lists import Amounts
from dragoman_allocator.amounts import wrap64
from dragoman_allocator.objects import Node, Pod

_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")


def shortages(node: Node, pods: Iterable[Pod], needed: Amounts, *, claims: bool) -> tuple[list[str], bool]:
    """Name what a node lacks (``Insufficient cpu``), and tell whether it would lack it even without other pods.

    ``pods`` are those on the node, charged with their claims if ``claims``. Amounts are compared as the scheduler
    does: cpu in thousandths, all else in whole units, each rounded up, with integers of 64 bits that wrap around.
    """
    total = _whole(lists.read(node.status.allocatable))
    taken: dict[str, int] = {}
    for pod in pods:
        for name, amount in _whole(footprint.pod_requests(pod, claims=claims)).items():
            taken[name] = wrap64(taken.get(name, 0) + amount)
    missing: list[str] = []
    hopeless = False
    for name, amount in _whole(needed).items():
        free = wrap64(total.get(name, 0) - taken.get(name, 0))
        if amount > free and (amount > 0 or name.startswith(lists.HUGEPAGES)):
            missing.append(f"Insufficient {name}")
            hopeless = hopeless or amount > total.get(name, 0)
    return missing, hopeless


def budget_fault(pod: Pod) -> str | None:
    """Say why ``spec.resources`` of a pod do not cover its containers and claims; None where they do."""
    resources = pod.spec.resources
    if resources is None or not pod.status.node_allocatable_resource_claim_statuses:
        return None
    if resources.requests is not None and (fault := _requests_fault(pod, lists.read(resources.requests))):
        return fault
    return None if resources.limits is None else _limits_fault(pod, lists.read(resources.limits))


def _requests_fault(pod: Pod, stated: Amounts) -> str | None:
    needed = footprint.container_requests(pod, claims=True)
    for name, budget in stated.items():
        if lists.is_pod_level(name) and name in needed and needed[name] > budget:
            return (
                f"pod level request for {name} is insufficient to cover the aggregated container and "
                "node-allocatable DRA requests"
            )
    return None


def _limits_fault(pod: Pod, stated: Amounts) -> str | None:
    for name, needed in footprint.container_limits(pod, claims=True).items():
        if name.startswith(lists.HUGEPAGES) and name in stated and needed > stated[name]:
            return (
                f"pod level limit for {name} is insufficient to cover the aggregated container and "
                "node-allocatable DRA limits"
            )
    for container in pod.spec.containers or ():
        own = footprint.container_claims(pod, container.name)
        for name, limit in lists.read(container.resources.limits).items():
            if name.startswith(lists.HUGEPAGES) or name not in stated:
                continue
            if limit + own.get(name, lists.ZERO) > stated[name]:
                return (
                    f"pod level limit for {name} is insufficient to cover the limit and DRA overhead for "
                    f"container {container.name}"
                )
    return None


def _whole(amounts: Amounts) -> dict[str, int]:
    """Give the amounts that are compared, in the units of the comparison and the order of the messages."""
    plain = {name: amounts[name] for name in _PLAIN if name in amounts}
    huge = {name: amounts[name] for name in sorted(amounts) if name.startswith(lists.HUGEPAGES)}
    return {name: each.millis if name == "cpu" else each.units for name, each in (plain | huge).items()}
