"""Amounts as apimachinery's ``resource.Quantity`` holds them: mantissa times a power of ten, narrow (64 bits) or wide.

What ``Value()`` and ``MilliValue()`` give beyond 64 bits, and for negative wide amounts, depends on which of the two an
amount is, so the functions here keep that apart. All are exact otherwise, and no number grows beyond ``MOST_DIGITS``.
"""

from __future__ import annotations

from typing import Final

from dragoman_allocator.errors import InvalidInput

SMALLEST: Final = -(2**63)
LARGEST: Final = 2**63 - 1
MOST_DIGITS: Final = 3900
"""Decimal digits of the widest amount; the API has no such limit, and never ends with numbers such as 1e-2000000000."""

_MOST_BITS: Final = MOST_DIGITS * 10 // 3
_INT64_DIGITS: Final = 19
_WRAPPING: Final = frozenset({1, 2, 3, 6, 9})
"""Powers of ten that apimachinery multiplies by in one step, and then does not look whether 64 bits hold the result."""


class InvalidQuantity(InvalidInput):
    """The text is not a quantity, or the amount is too wide to calculate with."""


def wrap64(value: int) -> int:
    """Give what a signed 64-bit integer holds of the value."""
    return (value - SMALLEST & 2**64 - 1) + SMALLEST


def wrap32(value: int) -> int:
    """Give what a signed 32-bit integer holds of the value."""
    return (value + 2**31 & 2**32 - 1) - 2**31


def fits64(value: int) -> bool:
    """Tell whether a signed 64-bit integer holds the value."""
    return SMALLEST <= value <= LARGEST


def shift(mantissa: int, digits: int) -> int:
    """Multiply by ten to the power of ``digits``. Raises ``InvalidQuantity`` where the result would be too wide."""
    if digits > MOST_DIGITS and mantissa:
        raise InvalidQuantity(f"a quantity with more than {MOST_DIGITS} digits cannot be calculated with")
    return bounded(mantissa * 10**digits) if mantissa else 0


def bounded(mantissa: int) -> int:
    """Give the mantissa. Raises ``InvalidQuantity`` where it is too wide."""
    if mantissa.bit_length() > _MOST_BITS:
        raise InvalidQuantity(f"a quantity with more than {MOST_DIGITS} digits cannot be calculated with")
    return mantissa


def away_from_zero(mantissa: int, digits: int) -> tuple[int, bool]:
    """Divide by ten to the power of ``digits``, rounding away from zero; also tell whether nothing was lost."""
    if digits > MOST_DIGITS + _INT64_DIGITS:
        return (mantissa > 0) - (mantissa < 0), mantissa == 0
    quotient, rest = divmod(abs(mantissa), 10**digits)
    quotient += rest > 0
    return (quotient if mantissa >= 0 else -quotient), rest == 0


def narrow_scaled(mantissa: int, digits: int) -> int | None:
    """Multiply a 64-bit mantissa by ten to the power of ``digits``; None where 64 bits do not hold the result."""
    if digits == 0 or mantissa == 0:
        return mantissa
    if digits >= _INT64_DIGITS:
        return None
    scaled = mantissa * 10**digits
    return scaled if fits64(scaled) else None


def narrow_value(mantissa: int, exponent: int) -> int:
    """Give a narrow amount as an integer, rounded away from zero; beyond 64 bits it wraps or is 0, by exponent."""
    if exponent < 0:
        return away_from_zero(mantissa, -exponent)[0]
    if exponent in _WRAPPING and mantissa != SMALLEST:
        return wrap64(mantissa * 10**exponent)
    return narrow_scaled(mantissa, exponent) or 0


def wide_value(mantissa: int, exponent: int) -> int:
    """Give a wide amount as an integer: wraps beyond 64 bits; negative ones are rounded as in the API (-1.5 to 0)."""
    if exponent >= 0:
        power = 10**exponent if exponent < _INT64_DIGITS else SMALLEST
        return wrap64(wrap64(mantissa) * power)
    if exponent < -MOST_DIGITS - _INT64_DIGITS:
        return int(mantissa != 0)
    divisor: int = 10**-exponent
    if mantissa < LARGEST and -exponent < _INT64_DIGITS:
        low = wrap64(mantissa)
        quotient, rest = divmod(abs(low), divisor)
        return (quotient if low >= 0 else -quotient) + (rest > 0)
    quotient, rest = divmod(mantissa, divisor)
    return wrap64(wrap64(quotient) + (rest > 0))


def compare(mantissa: int, exponent: int, other_mantissa: int, other_exponent: int) -> int:
    """Compare two amounts exactly: -1, 0 or 1. Never builds a power much wider than the operands."""
    if exponent == other_exponent or not mantissa or not other_mantissa or (mantissa < 0) != (other_mantissa < 0):
        return (mantissa > other_mantissa) - (mantissa < other_mantissa)
    apart = exponent - other_exponent
    if abs(apart) > 2 * MOST_DIGITS:
        return 1 if (apart > 0) == (mantissa > 0) else -1
    if apart > 0:
        mantissa *= 10**apart
    else:
        other_mantissa *= 10**-apart
    return (mantissa > other_mantissa) - (mantissa < other_mantissa)


def without_factors(mantissa: int, factor: int) -> tuple[int, int]:
    """Take all powers of the factor out of a mantissa other than zero; give what remains and how many there were."""
    times = 0
    while mantissa % factor == 0:
        mantissa //= factor
        times += 1
    return mantissa, times
