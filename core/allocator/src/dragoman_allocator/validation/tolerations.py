"""Rules about taints and tolerations (api-semantics 1.4, 1.6)."""

from __future__ import annotations

from typing import Final

from dragoman_allocator import names
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import formats
from dragoman_allocator.validation.errors import Errors, complaints, covered, invalid, not_supported, required

EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
OPERATORS: Final = ("Equal", "Exists")


def toleration(value: JsonObject, path: str) -> Errors:
    """Check a toleration."""
    key, text, effect = value.get("key", ""), value.get("value", ""), value.get("effect", "")
    operator = value.get("operator", "")
    errors = covered(formats.label_key(key, f"{path}.key")) if key else []
    if operator == "Exists":
        errors += [invalid(f"{path}.value", text, "must be empty for operator `Exists`")] if text else []
    elif operator == "Equal":
        errors += complaints(f"{path}.value", text, names.label_value(text))
    else:
        errors += covered([not_supported(f"{path}.operator", operator, OPERATORS)])
    if effect and effect not in EFFECTS:
        errors += covered([not_supported(f"{path}.effect", effect, EFFECTS)])
    return errors


def taint(value: JsonObject, path: str, old: JsonObject | None = None) -> Errors:
    """Check a taint; an effect that the stored one has already is good."""
    key, text, effect = value.get("key", ""), value.get("value", ""), value.get("effect", "")
    errors = formats.label_key(key, f"{path}.key")
    if text:
        errors += complaints(f"{path}.value", text, names.label_value(text))
    if old is not None and old.get("effect", "") == effect:
        return errors
    if not effect:
        errors += covered([required(f"{path}.effect")])
    elif effect not in EFFECTS:
        errors += covered([not_supported(f"{path}.effect", effect, EFFECTS)])
    return errors
