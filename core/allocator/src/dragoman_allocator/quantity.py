"""Quantities of the Kubernetes API (``resource.Quantity``): parsed exactly, compared by value, printed canonically."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, Self, TypeAlias

from dragoman_allocator import amounts
from dragoman_allocator.amounts import InvalidQuantity

__all__ = [
    "BINARY",
    "DECIMAL",
    "EXPONENT",
    "BareNumber",
    "Format",
    "InvalidQuantity",
    "Quantity",
    "parse",
    "parse_text",
]

Format: TypeAlias = Literal["BinarySI", "DecimalSI", "DecimalExponent"]
BINARY: Final[Format] = "BinarySI"
DECIMAL: Final[Format] = "DecimalSI"
EXPONENT: Final[Format] = "DecimalExponent"

LONGEST_TEXT: Final = 1024
"""Characters of the longest text that is read; the API has no limit but that of the object."""

_FORM: Final = re.compile(r"([+-]?)(0*)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[+-]?\d*)", re.ASCII)
_DECIMALS: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARIES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMALS.items()}
_BINARY_SUFFIX: Final = {exponent: suffix for suffix, exponent in _BINARIES.items()}
_NANO: Final = -9
_NARROW_DIGITS: Final = 18
_BLANKS: Final = (
    " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


class Quantity:
    """An exact amount with the format it is printed in; immutable, ordered, equal and hashed by value.

    ``1Gi`` equals ``1024Mi``. Arithmetic keeps the left operand's format, or takes the right one's where the left is
    zero, and raises ``InvalidQuantity`` where a result would have thousands of digits.
    """

    __slots__ = ("_exponent", "_format", "_key", "_mantissa", "_text", "_wide")

    def __init__(
        self, mantissa: int, exponent: int, style: Format, *, wide: bool = False, text: str | None = None
    ) -> None:
        """Hold ``mantissa * 10**exponent``; library users call ``parse``, ``of_int`` or ``of_millis`` instead."""
        self._mantissa = mantissa
        self._exponent = exponent
        self._format: Format = style
        self._wide = wide
        self._text = text
        self._key: tuple[int, int] | None = None

    @classmethod
    def of_int(cls, value: int, style: Format = DECIMAL) -> Self:
        """Give a whole amount of 64 bits (``resource.NewQuantity``)."""
        return cls(amounts.wrap64(value), 0, style)

    @classmethod
    def of_millis(cls, value: int, style: Format = DECIMAL) -> Self:
        """Give an amount of thousandths of 64 bits (``resource.NewMilliQuantity``)."""
        return cls(amounts.wrap64(value), -3, style)

    @property
    def format(self) -> Format:
        """The format it is printed in."""
        return self._format

    @property
    def text(self) -> str:
        """The text the API prints: as parsed where that looks canonical, else with the largest suffix that fits."""
        if self._text is None:
            self._text = self._canonical()
        return self._text

    @property
    def units(self) -> int:
        """``Value()``: rounded away from zero to an integer; beyond 64 bits it wraps, as there."""
        return self._scaled(0)

    @property
    def millis(self) -> int:
        """``MilliValue()``: rounded away from zero to thousandths; beyond 64 bits it wraps, as there."""
        return self._scaled(-3)

    @property
    def nanos(self) -> int:
        """The exact amount in units of 1n, of which everything parsed is a whole number. Raises ``InvalidQuantity``."""
        digits = self._exponent - _NANO
        if digits >= 0:
            return amounts.shift(self._mantissa, digits)
        value, exact = amounts.away_from_zero(self._mantissa, -digits)
        if not exact:
            raise InvalidQuantity(f"{self.text} is not a whole number of 1n")
        return value

    @property
    def as_int64(self) -> int | None:
        """``AsInt64()``: the amount where it is held as a whole 64-bit number (so not for ``1000m``), else None."""
        if self._wide or self._exponent < 0:
            return None
        return amounts.narrow_scaled(self._mantissa, self._exponent)

    @property
    def decimal(self) -> tuple[int, int]:
        """The amount as it is held, as mantissa and power of ten: ``1`` and ``1000m`` differ, as in ``AsDec()``."""
        return self._mantissa, self._exponent

    @property
    def is_wide(self) -> bool:
        """Whether the amount is held as a decimal of any size, not in 64 bits; ``units`` and ``millis`` show it."""
        return self._wide

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self._mantissa > 0) - (self._mantissa < 0)

    def compare(self, other: Quantity) -> int:
        """Give -1, 0 or 1 as this amount is smaller than, equal to or greater than the other."""
        return amounts.compare(self._mantissa, self._exponent, other._mantissa, other._exponent)

    def __add__(self, other: Quantity) -> Quantity:
        return self._plus(other, 1)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._plus(other, -1)

    def __mul__(self, factor: int | Quantity) -> Quantity:
        """Multiply by a 64-bit integer (``Mul``) or, as a decimal, by a quantity."""
        if isinstance(factor, Quantity):
            product = amounts.bounded(self._mantissa * factor._mantissa)
            return Quantity(product, amounts.wrap32(self._exponent + factor._exponent), self._format, wide=True)
        product = amounts.bounded(self._mantissa * factor)
        if self._wide:
            return Quantity(product, self._exponent, self._format, wide=True)
        return self._times(product)

    def __eq__(self, other: object) -> bool:
        return self.compare(other) == 0 if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.compare(other) >= 0

    def __bool__(self) -> bool:
        return self._mantissa != 0

    def __hash__(self) -> int:
        if self._key is None:
            mantissa, zeros = amounts.without_factors(self._mantissa, 10) if self._mantissa else (0, -self._exponent)
            self._key = (mantissa, self._exponent + zeros)
        return hash(self._key)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Quantity({self.text!r})"

    def _plus(self, other: Quantity, sign: int) -> Quantity:
        style = self._format if self._mantissa else other._format
        if not (self._wide or other._wide):
            narrow = self._narrow_sum(amounts.wrap64(sign * other._mantissa), other._exponent)
            if narrow is not None:
                return Quantity(*narrow, style)
        exponent = min(self._exponent, other._exponent)
        left = amounts.shift(self._mantissa, self._exponent - exponent)
        right = amounts.shift(other._mantissa, other._exponent - exponent)
        return Quantity(amounts.bounded(left + sign * right), exponent, style, wide=True)

    def _narrow_sum(self, mantissa: int, exponent: int) -> tuple[int, int] | None:
        if mantissa == 0:
            return self._mantissa, self._exponent
        if self._mantissa == 0:
            return mantissa, exponent
        low = min(self._exponent, exponent)
        left = amounts.narrow_scaled(self._mantissa, self._exponent - low)
        right = amounts.narrow_scaled(mantissa, exponent - low)
        if left is None or right is None or not amounts.fits64(left + right):
            return None
        return left + right, low

    def _times(self, product: int) -> Quantity:
        if product == 0:
            return Quantity(0, 0 if self._mantissa else self._exponent, self._format)
        narrow = amounts.fits64(product)
        if narrow and self._exponent > 0:
            narrow = amounts.narrow_scaled(product, self._exponent) is not None
        elif narrow and self._exponent < 0:
            narrow = amounts.away_from_zero(product, -self._exponent)[1]
        return Quantity(product, self._exponent, self._format, wide=not narrow)

    def _scaled(self, exponent: int) -> int:
        value = amounts.wide_value if self._wide else amounts.narrow_value
        return value(self._mantissa, self._exponent - exponent)

    def _canonical(self) -> str:
        if self._mantissa == 0:
            return "0"
        if self._format == BINARY and (whole := self._whole()) is not None:
            if whole == amounts.SMALLEST and not self._wide:
                return str(whole)  # apimachinery cannot negate it to look for factors
            mantissa, times = amounts.without_factors(whole, 1024)
            return f"{mantissa}{_BINARY_SUFFIX.get(10 * times, '')}"
        mantissa, zeros = amounts.without_factors(self._mantissa, 10)
        exponent = amounts.wrap32(self._exponent + zeros)
        mantissa, exponent = mantissa * 10 ** (exponent % 3), exponent - exponent % 3
        if self._format == EXPONENT:
            return f"{mantissa}e{exponent}" if exponent else str(mantissa)
        # An amount beyond the suffixes loses its exponent, as in apimachinery: 1000E prints 1.
        return f"{mantissa}{_DECIMAL_SUFFIX.get(exponent, '')}"

    def _whole(self) -> int | None:
        """Give the amount where binary format can show it: an integer of at least 1024 or at most -1024."""
        if amounts.compare(abs(self._mantissa), self._exponent, 1024, 0) < 0:
            return None
        if self._exponent >= 0:
            return amounts.shift(self._mantissa, self._exponent)
        value, exact = amounts.away_from_zero(self._mantissa, -self._exponent)
        return value if exact else None


class BareNumber(float):
    """A number of JSON that keeps its text, because ``1e3`` and ``1000.0`` are different quantities to the API."""

    __slots__ = ("text",)

    text: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the text of a number as JSON has it."""
        number = cls(text)
        number.text = text
        return number


def parse(raw: str | float | Quantity | None) -> Quantity:
    """Read a quantity as it stands in JSON: a text (blanks around it are dropped) or a bare number; None is zero.

    One that was calculated stands for itself.

    Raises ``InvalidQuantity``, which is an ``InvalidInput``.
    """
    if isinstance(raw, str):
        return parse_text(raw.strip(_BLANKS))
    if raw is None:
        return Quantity(0, 0, DECIMAL)
    if isinstance(raw, Quantity):
        return raw
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise InvalidQuantity(f"a quantity is a text or a number, not {type(raw).__name__}")
    return parse_text(_number_text(raw))


@lru_cache(maxsize=16384)
def parse_text(text: str) -> Quantity:
    """Read a text such as ``4``, ``1.5Gi``, ``100m`` or ``2e3`` with nothing around it. Raises ``InvalidQuantity``."""
    form = _FORM.fullmatch(text) if 0 < len(text) <= LONGEST_TEXT else None
    if form is None:
        raise InvalidQuantity(_refusal(text))
    if text == "0":
        return Quantity(0, 0, DECIMAL, text=text)
    sign, zeros, whole, part, suffix = form.groups(default="")
    style, power = _suffix(suffix, text)
    narrow = _narrow(text, whole or "0", part, style, power)
    if narrow is not None:
        return narrow
    if not (zeros or whole or part):
        raise InvalidQuantity(_refusal(text))
    return _wide(int(whole + part or "0"), len(part), style, power, negative=sign == "-")


def _refusal(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        return f"a quantity of {len(text)} characters is longer than the {LONGEST_TEXT} that are read"
    return f"{text!r} is not a quantity: write a number with a suffix such as 4, 1.5Gi, 100m or 2e3"


def _number_text(raw: float) -> str:
    if isinstance(raw, BareNumber):
        return raw.text
    try:
        return repr(raw)
    except ValueError:  # thousands of digits, more than Python prints
        raise InvalidQuantity(f"a quantity with more than {LONGEST_TEXT} digits is not read") from None


def _suffix(suffix: str, text: str) -> tuple[Format, int]:
    if suffix in _DECIMALS:
        return DECIMAL, _DECIMALS[suffix]
    if suffix in _BINARIES:
        return BINARY, _BINARIES[suffix]
    digits = suffix[1:]
    if suffix[0] in "eE" and digits.lstrip("+-").isdigit():
        power = int(digits)
        if amounts.fits64(power):
            return EXPONENT, amounts.wrap32(power)
    raise InvalidQuantity(_refusal(text))


def _narrow(text: str, whole: str, part: str, style: Format, power: int) -> Quantity | None:
    """Read what fits a 64-bit mantissa, keeping a text that looks canonical; None for anything else."""
    negative, digits = text[0] == "-", whole + part
    if style == BINARY:
        if part or len(whole) > 14 - power * 3 // 10:
            return None
        value, exponent, keep = int(whole), 0, int(whole) % 8 != 0
        mantissa = value << power
    else:
        exponent = amounts.wrap32(power - len(part))
        if len(digits) > _NARROW_DIGITS or exponent < _NANO:
            return None
        mantissa, keep = int(digits), exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(-mantissa if negative else mantissa, exponent, style, text=text if keep else None)


def _wide(mantissa: int, places: int, style: Format, power: int, *, negative: bool) -> Quantity:
    """Read what does not fit, rounded away from zero to 1n; binary format is capped, and is left below 1."""
    exponent = -places if style == BINARY else amounts.wrap32(power - places)
    if style == BINARY:
        mantissa <<= power
    if mantissa:
        shift = exponent - _NANO
        mantissa = amounts.shift(mantissa, shift) if shift >= 0 else amounts.away_from_zero(mantissa, -shift)[0]
        exponent = _NANO
    if style == BINARY and amounts.compare(mantissa, exponent, amounts.LARGEST, 0) > 0:
        mantissa, exponent = amounts.LARGEST, 0
    if style == BINARY and mantissa and amounts.compare(mantissa, exponent, 1, 0) < 0:
        style = DECIMAL
    return Quantity(-mantissa if negative else mantissa, exponent, style, wide=True)
