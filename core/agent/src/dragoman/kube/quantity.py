"""Kubernetes quantities by value, so that ``1Gi`` and ``1073741824`` are the same."""

from __future__ import annotations

import re
from fractions import Fraction

_FORM = re.compile(r"^(?P<number>[+-]?(\d+\.?\d*|\.\d+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def quantity(text: str | float) -> Fraction | None:
    """Give the exact value, or None for what is not a quantity."""
    found = _FORM.match(str(text).strip())
    if found is None:
        return None
    number, suffix = Fraction(found["number"]), found["suffix"] or ""
    if suffix in _BINARY:
        return number * (1 << _BINARY[suffix])
    exponent = _DECIMAL.get(suffix, int(suffix[1:]) if len(suffix) > 1 else 0)
    return number * Fraction(10) ** exponent
