"""Errors about fields, worded as ``k8s.io/apimachinery/pkg/util/validation/field`` words them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from dataclasses import field as member
from typing import Any, Final

NOT_FOUND: Final = "FieldValueNotFound"
REQUIRED: Final = "FieldValueRequired"
DUPLICATE: Final = "FieldValueDuplicate"
INVALID: Final = "FieldValueInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
FORBIDDEN: Final = "FieldValueForbidden"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
INTERNAL: Final = "InternalError"

IMMUTABLE: Final = "field is immutable"
NOT_NEGATIVE: Final = "must be greater than or equal to 0"

WORDS: Final = {
    NOT_FOUND: "Not found",
    REQUIRED: "Required value",
    DUPLICATE: "Duplicate value",
    INVALID: "Invalid value",
    NOT_SUPPORTED: "Unsupported value",
    FORBIDDEN: "Forbidden",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    INTERNAL: "Internal error",
}
"""How a message to people names each type; ``type`` itself is what ``Status.details.causes[].reason`` holds."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field.

    ``field`` is the path (``spec.devices[0].attributes[a-b]``), ``type`` one of the constants of this module.
    ``origin`` and ``covered`` decide which errors a declared rule replaces (KEP-5073), ``declared`` marks those of the
    rules that replace; the three are no part of the answer.
    """

    field: str
    type: str
    detail: str = ""
    bad_value: Any = ""
    origin: str = member(default="", compare=False)
    covered: bool = member(default=False, compare=False)
    declared: bool = member(default=False, compare=False)

    def __str__(self) -> str:
        shown = "" if self.type in _WITHOUT_VALUE else f": {_shown(self.bad_value)}"
        return f"{self.field}: {WORDS[self.type]}{shown}" + (f": {self.detail}" if self.detail else "")


_WITHOUT_VALUE: Final = frozenset({REQUIRED, FORBIDDEN, TOO_LONG, INTERNAL})

Errors = list[FieldError]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def required(path: str, detail: str = "") -> FieldError:
    """Give the error of a missing value."""
    return FieldError(path, REQUIRED, detail)


def invalid(path: str, value: Any, detail: str, origin: str = "") -> FieldError:
    """Give the error of a value that a rule refuses."""
    return FieldError(path, INVALID, detail, value, origin)


def forbidden(path: str, detail: str = "") -> FieldError:
    """Give the error of a value that would be good elsewhere."""
    return FieldError(path, FORBIDDEN, detail)


def duplicate(path: str, value: Any) -> FieldError:
    """Give the error of a value that stands twice."""
    return FieldError(path, DUPLICATE, "", value)


def not_found(path: str, value: Any) -> FieldError:
    """Give the error of a reference to nothing."""
    return FieldError(path, NOT_FOUND, "", value)


def not_supported(path: str, value: str, supported: Iterable[str]) -> FieldError:
    """Give the error of a value that is not one of the known ones."""
    return FieldError(path, NOT_SUPPORTED, "supported values: " + ", ".join(f'"{one}"' for one in supported), value)


def too_long(path: str, limit: int, origin: str = "", unit: str = "bytes") -> FieldError:
    """Give the error of a text with more than ``limit`` bytes or characters."""
    return FieldError(path, TOO_LONG, f"may not be more than {limit} {unit}", "<value omitted>", origin)


def too_many(path: str, count: int, limit: int, origin: str = "maxItems") -> FieldError:
    """Give the error of a list with more than ``limit`` items."""
    return FieldError(path, TOO_MANY, f"must have at most {limit} items", count, origin)


def covered(errors: Iterable[FieldError], origin: str | None = None) -> Errors:
    """Mark errors as ones that a declared rule may replace, with the origin that both carry."""
    return [replace(one, covered=True, origin=one.origin if origin is None else origin) for one in errors]


def complaints(path: str, value: Any, texts: Iterable[str], origin: str = "") -> Errors:
    """Give one error for each complaint of a name rule."""
    return [invalid(path, value, text, origin) for text in texts]
