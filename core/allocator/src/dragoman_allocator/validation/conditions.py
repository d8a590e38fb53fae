"""Rules about conditions (``metav1.Condition``)."""

from __future__ import annotations

from typing import Final

from dragoman_allocator import names
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.errors import (
    Errors,
    complaints,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)

REASON_SIZE: Final = 1024
MESSAGE_SIZE: Final = 32 * 1024
_STATUSES: Final = ("False", "True", "Unknown")


def check(conditions: list[JsonObject], path: str) -> Errors:
    """Check a list of conditions, of which no two may have one type."""
    errors: Errors = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{path}[{index}]", kind))
        seen.add(kind)
        errors += _condition(condition, f"{path}[{index}]")
    return errors


def _condition(condition: JsonObject, path: str) -> Errors:
    kind, status = condition.get("type", ""), condition.get("status", "")
    errors = [required(f"{path}.type", "is required")] if not kind else []
    errors += complaints(f"{path}.type", kind, names.label_key(kind), "format=k8s-label-key") if kind else []
    if not status:
        errors.append(required(f"{path}.status"))
    elif status not in _STATUSES:
        errors.append(not_supported(f"{path}.status", status, _STATUSES))
    if condition.get("observedGeneration", 0) < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.observedGeneration", condition["observedGeneration"], text))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime"))
    errors += _reason(condition.get("reason", ""), f"{path}.reason")
    if names.size(condition.get("message", "")) > MESSAGE_SIZE:
        errors.append(too_long(f"{path}.message", MESSAGE_SIZE))
    return errors


def _reason(reason: str, path: str) -> Errors:
    if not reason:
        return [required(path)]
    errors = complaints(path, reason, names.reason(reason))
    if names.size(reason) > REASON_SIZE:
        errors.append(too_long(path, REASON_SIZE))
    return errors
