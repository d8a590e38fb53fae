"""What is wrong with a node selector, in the words of ``k8s.io/component-helpers/scheduling/corev1/nodeaffinity``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from dragoman_allocator import names
from dragoman_allocator.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dragoman_allocator.quoting import quoted

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FOR_LABELS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FOR_FIELDS: Final = ("In", "NotIn")


def problem(selector: NodeSelector) -> str | None:
    """Give what keeps it from being read; a term without requirements is never looked at."""
    found = dict.fromkeys(
        text
        for index, term in enumerate(selector.node_selector_terms)
        for text in _term(term, f"nodeSelectorTerms[{index}]")
    )
    if len(found) > 1:
        return f"[{', '.join(found)}]"
    return next(iter(found), None)


def integer(text: str) -> int | None:
    """Read a whole number of 64 bits; None for anything else."""
    if not _INTEGER.fullmatch(text):
        return None
    try:
        number = int(text)
    except ValueError:  # thousands of digits
        return None
    return number if -(2**63) <= number < 2**63 else None


def _term(term: NodeSelectorTerm, at: str) -> Iterator[str]:
    for index, requirement in enumerate(term.match_expressions or ()):
        yield from _label(requirement, f"{at}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.match_fields or ()):
        yield from _field(requirement, f"{at}.matchFields[{index}]")


def _label(requirement: NodeSelectorRequirement, at: str) -> Iterator[str]:
    if requirement.operator not in _FOR_LABELS:
        yield _unsupported(requirement, at, _FOR_LABELS)
        return
    key, values = requirement.key, requirement.values or []
    if texts := names.label_key(key):
        yield f"{at}.key: Invalid value: {quoted(key)}: {'; '.join(texts)}"
    yield from _operands(requirement, f"{at}.values")
    for index, value in enumerate(values):
        if texts := names.label_value(value):
            yield f"{at}.values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(texts)}"


def _operands(requirement: NodeSelectorRequirement, at: str) -> Iterator[str]:
    values = requirement.values or []
    shown = _shown(requirement.values)
    match requirement.operator:
        case "In" | "NotIn":
            if not values:
                yield f"{at}: Invalid value: {shown}: for 'in', 'notin' operators, values set can't be empty"
        case "Exists" | "DoesNotExist":
            if values:
                yield f"{at}: Invalid value: {shown}: values set must be empty for exists and does not exist"
        case _:
            if len(values) != 1:
                yield f"{at}: Invalid value: {shown}: for 'Gt', 'Lt' operators, exactly one value is required"
            for index, value in enumerate(values):
                if integer(value) is None:
                    text = "for 'Gt', 'Lt' operators, the value must be an integer"
                    yield f"{at}[{index}]: Invalid value: {quoted(value)}: {text}"


def _field(requirement: NodeSelectorRequirement, at: str) -> Iterator[str]:
    if requirement.operator not in _FOR_FIELDS:
        yield _unsupported(requirement, at, _FOR_FIELDS)
    elif len(requirement.values or ()) != 1:
        yield f"{at}.values: Invalid value: {_shown(requirement.values)}: must have one element"


def _unsupported(requirement: NodeSelectorRequirement, at: str, known: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in known)
    return f"{at}.operator: Unsupported value: {_shown(requirement.operator)}: supported values: {listed}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
