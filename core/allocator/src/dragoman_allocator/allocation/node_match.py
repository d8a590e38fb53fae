"""Node selectors as the scheduler's node affinity reads them (core/v1 NodeSelector)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DOMAIN_LIMIT: Final = 253


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
    terms = [term for term in selector.node_selector_terms if term.match_expressions or term.match_fields]
    for term in terms:
        _check(term)
    return any(_holds(term, node) for term in terms)


def _check(term: NodeSelectorTerm) -> None:
    for requirement in term.match_expressions or ():
        problem = _label_problem(requirement)
        if problem:
            raise InvalidInput(f"failed to parse node selector: matchExpressions of key {requirement.key!r}: {problem}")
    for requirement in term.match_fields or ():
        problem = _field_problem(requirement)
        if problem:
            raise InvalidInput(f"failed to parse node selector: matchFields of key {requirement.key!r}: {problem}")


def _label_problem(requirement: NodeSelectorRequirement) -> str | None:
    values = requirement.values or []
    problem = _count_problem(requirement.operator, values)
    if problem is None and not _is_label_key(requirement.key):
        problem = "the key is not a label name"
    if problem is None and not all(value == "" or _NAME.fullmatch(value) for value in values):
        problem = "a value is not a label value"
    return problem


def _count_problem(operator: str, values: list[str]) -> str | None:
    match operator:
        case "In" | "NotIn":
            return None if values else "it needs at least one value"
        case "Exists" | "DoesNotExist":
            return "it takes no values" if values else None
        case "Gt" | "Lt":
            return None if len(values) == 1 and _integer(values[0]) is not None else "it needs one whole number"
        case _:
            return f"operator {operator!r} is not known"


def _field_problem(requirement: NodeSelectorRequirement) -> str | None:
    if requirement.operator not in ("In", "NotIn"):
        return f"operator {requirement.operator!r} is not known for fields"
    return None if len(requirement.values or ()) == 1 else "it needs exactly one value"


def _is_label_key(key: str) -> bool:
    domain, slash, name = key.rpartition("/")
    if slash and not (len(domain) <= _DOMAIN_LIMIT and _DOMAIN.fullmatch(domain)):
        return False
    return _NAME.fullmatch(name) is not None


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


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
    number, bound = _integer(value or ""), _integer(values[0])
    if number is None or bound is None:
        return False
    return number > bound if requirement.operator == "Gt" else number < bound


def _field_holds(requirement: NodeSelectorRequirement, name: str) -> bool:
    value = name if requirement.key == "metadata.name" else ""
    return (value in (requirement.values or ())) == (requirement.operator == "In")
