"""Kubernetes quantities: parsed exactly, compared by value and never by text."""

from __future__ import annotations

import re
from fractions import Fraction

from dragoman_hookspecs import DragomanError

_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>\d*)(?:\.(?P<part>\d*))?"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?\d+))?",
    re.ASCII,
)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_NANO = 10**9
_BINARY_CAP = 2**63 - 1
_EXPONENT_LIMIT = 1000
"""Exponents beyond are refused: the API takes them, but no device has them and the arithmetic would be huge."""


class InvalidQuantity(DragomanError, ValueError):
    """The text is not a quantity."""


def parse(text: str) -> Fraction:
    """Give the exact value of a quantity such as ``4``, ``1.5Gi``, ``100m`` or ``2e3``.

    As the API stores it: finer than 1n is rounded away from zero, a binary amount is capped at 2^63-1.
    Raises ``InvalidQuantity``.
    """
    form = _FORM.fullmatch(text) if text not in {"", "+", "-", ".", "+.", "-."} else None
    if form is None or abs(exponent := _exponent(form)) > _EXPONENT_LIMIT:
        raise InvalidQuantity(f"{text!r} is not a quantity")
    part = form["part"] or ""
    value = Fraction(int(form["whole"] + part or "0"), 10 ** len(part))
    if form["binary"]:
        value = min(value * 1024 ** _BINARY[form["binary"]], Fraction(_BINARY_CAP))
    else:
        value *= Fraction(10) ** exponent
    value = Fraction(round_up(value * _NANO), _NANO)
    return -value if form["sign"] == "-" else value


def round_up(value: Fraction) -> int:
    """Round away from zero to an integer, as the API's ``Value()`` does within 64 bits."""
    return -(-value.numerator // value.denominator) if value >= 0 else value.numerator // value.denominator


def is_quantity(text: object) -> bool:
    """Tell whether ``parse`` takes it."""
    try:
        return isinstance(text, str) and parse(text) is not None
    except InvalidQuantity:
        return False


def same(first: str, second: str) -> bool:
    """Tell whether two quantities have one value: ``1Gi`` and ``1024Mi`` do. Raises ``InvalidQuantity``."""
    return parse(first) == parse(second)


def text(value: Fraction) -> str:
    """Write a value with the largest decimal suffix that keeps it whole: ``6G``, ``1500m``, ``3``."""
    for suffix, exponent in sorted(_DECIMAL.items(), key=lambda item: -item[1]):
        scaled = value / Fraction(10) ** exponent
        if scaled.denominator == 1 and (value != 0 or not suffix):
            return f"{scaled.numerator}{suffix}"
    return f"{round_up(value * _NANO)}n"


def _exponent(form: re.Match[str]) -> int:
    return int(form["exponent"]) if form["exponent"] else _DECIMAL[form["decimal"] or ""]
