"""Rules about node names and node selectors."""

from __future__ import annotations

from typing import Final

from dragoman_allocator import names
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.errors import Errors, complaints, forbidden, invalid, required

_NO_OPERATOR: Final = "not a valid selector operator"


def name(value: str, path: str) -> Errors:
    """Check the name of a node."""
    return complaints(path, value, names.subdomain(value))


def selector(value: JsonObject, path: str) -> Errors:
    """Check a node selector."""
    terms = value.get("nodeSelectorTerms", [])
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: Errors = []
    for index, term in enumerate(terms):
        inner = f"{path}.nodeSelectorTerms[{index}]"
        for at, requirement in enumerate(term.get("matchExpressions", [])):
            errors += _expression(requirement, f"{inner}.matchExpressions[{at}]")
        for at, requirement in enumerate(term.get("matchFields", [])):
            errors += _field(requirement, f"{inner}.matchFields[{at}]")
    return errors


def _expression(requirement: JsonObject, path: str) -> Errors:
    key, values = requirement.get("key", ""), requirement.get("values", [])
    errors = _operands(requirement.get("operator", ""), len(values), path)
    errors += complaints(f"{path}.key", key, names.label_key(key))
    for index, value in enumerate(values):
        errors += complaints(f"{path}.values[{index}]", value, names.label_value(value))
    return errors


def _operands(operator: str, count: int, path: str) -> Errors:
    if operator in ("In", "NotIn"):
        text = "must be specified when `operator` is 'In' or 'NotIn'"
        return [] if count else [required(f"{path}.values", text)]
    if operator in ("Exists", "DoesNotExist"):
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden(f"{path}.values", text)] if count else []
    if operator in ("Gt", "Lt"):
        text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        return [] if count == 1 else [required(f"{path}.values", text)]
    return [invalid(f"{path}.operator", operator, _NO_OPERATOR)]


def _field(requirement: JsonObject, path: str) -> Errors:
    key, operator, values = requirement.get("key", ""), requirement.get("operator", ""), requirement.get("values", [])
    errors: Errors = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, _NO_OPERATOR))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    if key != "metadata.name":
        return [*errors, invalid(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        errors += complaints(f"{path}.values[{index}]", value, names.subdomain(value))
    return errors
