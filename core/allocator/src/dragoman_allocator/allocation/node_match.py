"""Node selectors as the scheduler's node affinity reads them (core/v1 NodeSelector)."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman_allocator.allocation.node_selectors import integer, problem
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm


def node_matches(node: Node, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> bool:
    """Tell whether the scope of a slice or device holds the node; no scope at all holds none.

    Raises ``InvalidInput`` for a selector that the API server would not have taken.
    """
    if node_name:
        return node.metadata.name == node_name
    if all_nodes:
        return True
    return selector is not None and selector_matches(selector, node)


def selector_matches(selector: NodeSelector, node: Node) -> bool:
    """Tell whether one term holds for the node; terms without requirements hold for none. Raises ``InvalidInput``."""
    if fault := problem(selector):
        raise InvalidInput(f"failed to parse node selector: {fault}")
    terms = [term for term in selector.node_selector_terms if term.match_expressions or term.match_fields]
    return any(_holds(term, node) for term in terms)


def _holds(term: NodeSelectorTerm, node: Node) -> bool:
    labels = node.metadata.labels or {}
    if not all(_label_holds(requirement, labels) for requirement in term.match_expressions or ()):
        return False
    if not node.metadata.name:
        return True
    return all(_field_holds(requirement, node.metadata.name) for requirement in term.match_fields or ())


def _label_holds(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    values = requirement.values or []
    match requirement.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    number, bound = integer(value or ""), integer(values[0])
    if number is None or bound is None:
        return False
    return number > bound if requirement.operator == "Gt" else number < bound


def _field_holds(requirement: NodeSelectorRequirement, name: str) -> bool:
    value = name if requirement.key == "metadata.name" else ""
    return (value in (requirement.values or ())) == (requirement.operator == "In")
