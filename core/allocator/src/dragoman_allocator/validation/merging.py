"""Puts both kinds of rules together: a declared one replaces what one written by hand says of the same (KEP-5073)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from dragoman_allocator.validation.errors import INVALID, Errors, FieldError

_OF_REQUEST: Final = "deviceClassName|selectors|allocationMode|count|adminAccess|tolerations|derivedAttributes"
_RULES: Final = (
    (re.compile(rf"spec\.devices\.requests\[(\d+)\]\.({_OF_REQUEST})"), r"spec.devices.requests[\1].exactly.\2"),
    (re.compile(r"spec\.devices\[(\d+)\]\.basic\."), r"spec.devices[\1]."),
)
"""Paths of v1beta1, and the ones of v1 that errors of rules written by hand have."""


def merged(by_hand: Iterable[FieldError], declared: Errors) -> Errors:
    """Give the errors that the API server answers, sorted; each message of a rule written by hand comes once."""
    replacing = {
        (one.type, path, one.origin) for one in declared if one.declared for path in (one.field, _normal(one.field))
    }
    once = {str(one): one for one in reversed(list(by_hand))}.values()
    kept = [one for one in once if not (one.covered and _is_replaced(one, replacing))]
    return sorted([*kept, *declared], key=lambda one: (one.field, one.type, one.detail, str(one.bad_value)))


def _is_replaced(one: FieldError, replacing: set[tuple[str, str, str]]) -> bool:
    if one.type == INVALID and not one.origin:
        return False
    return (one.type, one.field, one.origin) in replacing


def _normal(path: str) -> str:
    for pattern, replacement in _RULES:
        normal = pattern.sub(replacement, path)
        if normal != path:
            return normal
    return path
