"""Turns the choices of a search into the allocation of a claim (api-semantics 2.13)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from dragoman_allocator.allocation.config import allocation_config
from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.rules import Copy, Rules
from dragoman_allocator.allocation.search import Choice, Solution
from dragoman_allocator.allocation.target import Target
from dragoman_allocator.errors import AllocationFailed, InvalidInput
from dragoman_allocator.objects import (
    AllocationDevices,
    AllocationResult,
    DeviceResult,
    DeviceToleration,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceClaim,
)

ShareIds = Callable[[], str]
"""Gives a new share ID, a lower-case UUID."""


def new_share_id() -> str:
    """Give a random UUID."""
    return str(uuid.uuid4())


def build(claim: ResourceClaim, solution: Solution, node: Node, rules: Rules, ids: ShareIds) -> AllocationResult:
    """Give the allocation. Raises ``AllocationFailed`` where devices have node selectors that cannot be joined."""
    results = [_device_result(claim, choice, rules, ids) for choice in solution.choices]
    try:
        selector = _node_selector([choice.device for choice in solution.choices], node.metadata.name, rules)
    except InvalidInput as problem:
        raise AllocationFailed(f"create NodeSelector for claim {claim.metadata.name}: {problem}") from problem
    config = allocation_config(claim, solution.targets, rules)
    return AllocationResult(
        devices=AllocationDevices(results=results or None, config=config or None), node_selector=selector
    )


def _device_result(claim: ResourceClaim, choice: Choice, rules: Rules, ids: ShareIds) -> DeviceResult:
    target, device = choice.target, choice.device
    spec = device.spec
    return DeviceResult(
        request=target.name if target.of_request else target.label,
        driver=device.id[0],
        pool=device.id[1],
        device=device.id[2],
        admin_access=True if target.admin else None,
        tolerations=_tolerations(claim, target) or None,
        binding_conditions=(spec.binding_conditions or None) if rules.binding else None,
        binding_failure_conditions=(spec.binding_failure_conditions or None) if rules.binding else None,
        share_id=ids() if device.shareable else None,
        consumed_capacity=dict(choice.amounts.recorded) or None if device.shareable else None,
        skip_node_operations=device.slice.spec.skip_node_operations if rules.copy is Copy.EXPERIMENTAL else None,
    )


def _tolerations(claim: ResourceClaim, target: Target) -> list[DeviceToleration] | None:
    """Look up the tolerations by name, as upstream does: of two requests of one name, the first one's are recorded."""
    for request in claim.spec.devices.requests or ():
        if request.name != (target.of_request or target.label):
            continue
        if target.name == target.label or not target.of_request:
            return request.exactly.tolerations if request.exactly is not None else None
        for sub in request.first_available or ():
            if sub.name == target.label:
                return sub.tolerations
    return None


def _node_selector(devices: Sequence[DeviceRecord], node_name: str, rules: Rules) -> NodeSelector | None:
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for device in devices:
        scope = device.spec if device.per_device else device.slice.spec
        if scope.node_name is not None or (device.spec.binds_to_node and not rules.stable):
            name = scope.node_name if rules.stable and scope.node_name is not None else node_name
            only = NodeSelectorRequirement(key="metadata.name", operator="In", values=[name])
            return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[only])])
        terms = scope.node_selector.node_selector_terms if scope.node_selector is not None else []
        if len(terms) > 1:
            raise InvalidInput(f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        for term in terms:
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    if not (expressions or fields):
        return None
    term = NodeSelectorTerm(match_expressions=expressions or None, match_fields=fields or None)
    return NodeSelector(node_selector_terms=[term])


def _add_new(found: list[NodeSelectorRequirement], more: Sequence[NodeSelectorRequirement] | None) -> None:
    known = {_identity(requirement) for requirement in found}
    for requirement in more or ():
        if _identity(requirement) not in known:
            known.add(_identity(requirement))
            found.append(requirement)


def _identity(requirement: NodeSelectorRequirement) -> tuple[str, str, frozenset[str]]:
    return requirement.key, requirement.operator, frozenset(requirement.values or ())
