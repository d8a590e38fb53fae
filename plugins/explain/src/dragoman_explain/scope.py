"""Node selectors and allocated devices in words."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman_allocator.allocation.node_match import selector_matches
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import (
    AllocationResult,
    DeviceResult,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    ResourceClaim,
)

_SIGNS: Mapping[str, str] = {"In": "in", "NotIn": "not in", "Gt": ">", "Lt": "<"}


def selector_text(selector: NodeSelector | None) -> str:
    """Give a node selector as a person reads it."""
    if selector is None:
        return "all nodes"
    terms = [
        " and ".join(map(_requirement, [*(term.match_fields or ()), *(term.match_expressions or ())]))
        for term in selector.node_selector_terms
    ]
    return "nodes with " + " or ".join(terms)


def misses(claim: ResourceClaim, node: Node) -> str | None:
    """Say why an allocated claim cannot be used on a node; None where it can, or is not allocated."""
    allocation = claim.status.allocation
    if allocation is None or allocation.node_selector is None:
        return None
    try:
        if selector_matches(allocation.node_selector, node):
            return None
    except InvalidInput as error:
        return f"claim {claim.metadata.namespace}/{claim.metadata.name}: {error}"
    where = selector_text(allocation.node_selector)
    return f"claim {claim.metadata.namespace}/{claim.metadata.name} is allocated already, for {where} only"


def device_text(result: DeviceResult) -> str:
    """Give one result: request, device, share and amounts."""
    text = f"{result.request}: {result.driver}/{result.pool}/{result.device}"
    if result.consumed_capacity:
        text += f" ({', '.join(f'{name} {amount}' for name, amount in sorted(result.consumed_capacity.items()))})"
    return f"{text} (admin access)" if result.admin_access else text


def allocation_text(allocation: AllocationResult) -> str:
    """Give all results of one allocation."""
    return ", ".join(map(device_text, allocation.devices.results or ())) or "no devices"


def _requirement(requirement: NodeSelectorRequirement) -> str:
    key = "name" if requirement.key == "metadata.name" else requirement.key
    values = requirement.values or []
    if requirement.operator in ("Exists", "DoesNotExist"):
        return key if requirement.operator == "Exists" else f"no {key}"
    if requirement.operator == "In" and len(values) == 1:
        return f"{key} {values[0]}"
    return f"{key} {_SIGNS.get(requirement.operator, requirement.operator)} {', '.join(values)}"
