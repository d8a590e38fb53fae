"""Rules about ``requestPolicy``: what a share of a capacity may consume (api-semantics 1.5)."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.quantity import Quantity
from dragoman_allocator.validation import formats
from dragoman_allocator.validation.errors import NOT_NEGATIVE, Errors, forbidden, invalid, required, too_many

MOST_VALUES: Final = 10
LARGEST: Final = 2**63 - 1
_BOTH: Final = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'


def policy(capacity: Quantity, value: JsonObject, path: str, features: Features) -> Errors:
    """Check the policy of a capacity of this amount."""
    values, default = value.get("validValues", []), value.get("default")
    fractions = features.on("DRAFractionalCapacityRange")
    if values and "validRange" in value:
        return [forbidden(path, _BOTH)]
    if values:
        if default is None:
            return [required(f"{path}.default", "required when validValues is defined")]
        return _values(default, capacity, values, f"{path}.validValues", fractions=fractions)
    if "validRange" in value:
        if default is None:
            return [required(f"{path}.default", "required when validRange is defined")]
        return _range(default, capacity, value["validRange"], f"{path}.validRange", fractions=fractions)
    return []


def _values(default: Quantity, capacity: Quantity, values: list[Quantity], path: str, *, fractions: bool) -> Errors:
    errors = [
        invalid(f"{path}[{index}]", later.text, "values must be sorted in ascending order")
        for index, (earlier, later) in enumerate(pairwise(values), 1)
        if earlier > later
    ]
    found = False
    if len(values) > MOST_VALUES:
        errors.append(too_many(path, len(values), MOST_VALUES))
    else:
        text = f"option is larger than capacity value: {capacity.text}"
        errors += [invalid(f"{path}[{at}]", one.text, text) for at, one in enumerate(values) if one > capacity]
        # what counts as the same value: the decimal text with fractions, otherwise the amount rounded up
        keys = [_decimal(one) if fractions else str(one.units) for one in _compared(values)]
        errors += formats.repeated(keys, path, by_rule=False)
        found = default in values
    if not found:
        errors.append(invalid(path, default.text, "default value is not valid according to the requestPolicy"))
    return errors


def _compared(values: list[Quantity]) -> list[Quantity]:
    """Give the values as upstream holds them once it has compared them: one before a wide one is wide as well."""
    pairs = zip(values, [*values[1:], values[-1]], strict=True)
    return [Quantity(*one.decimal, one.format, wide=one.is_wide or later.is_wide) for one, later in pairs]


def _decimal(value: Quantity) -> str:
    """Give an amount with as many digits after the point as it is held with, so that 1 and 1000m differ."""
    mantissa, exponent = value.decimal
    if exponent >= 0:
        return str(mantissa * 10**exponent)
    digits = str(abs(mantissa)).rjust(1 - exponent, "0")
    return f"{'-' if mantissa < 0 else ''}{digits[:exponent]}.{digits[exponent:]}"


def _range(default: Quantity, capacity: Quantity, value: JsonObject, path: str, *, fractions: bool) -> Errors:
    low, high, step = value.get("min"), value.get("max"), value.get("step")
    if low is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    errors = _order(default, capacity, low, high, path)
    amounts = {"default": default, "min": low, "max": high, "step": step}
    given = {name: one for name, one in amounts.items() if one is not None}
    millis = fractions and any(not _is_whole(one) for one in given.values())
    if millis and (unsafe := _unsafe_millis(given, path)):
        return errors + unsafe
    return errors if step is None else errors + _step(given, capacity, path, millis=millis)


def _order(default: Quantity, capacity: Quantity, low: Quantity, high: Quantity | None, path: str) -> Errors:
    errors: Errors = []
    if low > capacity:
        errors.append(invalid(f"{path}.min", low.text, f"min is larger than capacity value: {capacity.text}"))
    if default < low:
        errors.append(invalid(f"{path}.default", default.text, f"default is less than min: {low.text}"))
    if high is None:
        return errors
    if low > high:
        errors.append(invalid(f"{path}.max", low.text, f"min is larger than max: {high.text}"))
    if high > capacity:
        errors.append(invalid(f"{path}.max", high.text, f"max is larger than capacity value: {capacity.text}"))
    if default > high:
        errors.append(invalid(f"{path}.default", default.text, f"default is more than max: {high.text}"))
    return errors


def _is_whole(value: Quantity) -> bool:
    mantissa, exponent = value.decimal
    return exponent >= 0 or mantissa % 10**-exponent == 0


def _unsafe_millis(given: dict[str, Quantity], path: str) -> Errors:
    text = "value cannot be represented as a milli value"
    return [
        invalid(f"{path}.{name}", one.text, text)
        for name, one in given.items()
        if Quantity.of_millis(one.millis) != one
    ]


def _step(given: dict[str, Quantity], capacity: Quantity, path: str, *, millis: bool) -> Errors:
    low, step = given["min"], given["step"]
    if step.sign <= 0:
        return [invalid(f"{path}.step", step.text, "must be greater than zero")]
    errors: Errors = []
    if (first := low + step) > capacity:
        text = f"one step {first.text} is larger than capacity value: {capacity.text}"
        errors.append(invalid(f"{path}.step", step.text, text))
    if not millis and (unsafe := _unsafe_units(given, path)):
        return errors + unsafe
    for name in ("default", "max"):
        if name in given and not _is_multiple(given[name], low, step, millis=millis):
            text = f"value is not a multiple of a given step ({step.text}) from ({low.text})"
            errors.append(invalid(f"{path}.step", given[name].text, text))
    return errors


def _unsafe_units(given: dict[str, Quantity], path: str) -> Errors:
    errors: Errors = []
    for name, one in given.items():
        if one.sign < 0:
            errors.append(invalid(f"{path}.{name}", one.text, NOT_NEGATIVE))
        elif one > Quantity.of_int(LARGEST):
            errors.append(invalid(f"{path}.{name}", one.text, f"must not be larger than {LARGEST}"))
    return errors


def _is_multiple(value: Quantity, low: Quantity, step: Quantity, *, millis: bool) -> bool:
    if millis:
        return (value.millis - low.millis) % step.millis == 0
    return (value.units - low.units) % step.units == 0
