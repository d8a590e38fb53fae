"""What a share of a device consumes of a capacity, and whether its request policy allows that (KEP-5075)."""

from __future__ import annotations

from typing import NamedTuple

from dragoman_allocator.allocation.rules import Rules
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import Capacity, RawQuantity, RequestPolicy, RequestPolicyRange
from dragoman_allocator.quantity import BINARY, Quantity, parse

_LARGEST = 2**63 - 1
_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"


class CapacityFault(InvalidInput):
    """An amount that no device may serve: the whole attempt ends."""


class Amount(NamedTuple):
    """What a share consumes, and how that was written; None where it was calculated."""

    value: Quantity
    written: RawQuantity | None


def consumed(requested: RawQuantity | None, capacity: Capacity, rules: Rules) -> Amount:
    """Give the amount that a request takes of a capacity. Raises ``CapacityFault`` or ``InvalidInput``."""
    policy = capacity.request_policy
    if requested is None:
        return _written(capacity.value if policy is None or policy.default is None else policy.default)
    if policy is None:
        return _written(requested)
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded(requested, policy.valid_range, policy.valid_range.min, rules)
    least = parse(requested)
    return _written(next((raw for raw in policy.valid_values or () if least <= parse(raw)), requested))


def _written(raw: RawQuantity) -> Amount:
    return Amount(parse(raw), raw)


def violates(amount: Amount, policy: RequestPolicy | None, rules: Rules) -> bool:
    """Tell whether the policy forbids the amount; the default as it is written is always allowed."""
    if policy is None or (policy.default is not None and _is_default(amount, policy.default)):
        return False
    if policy.valid_range is not None:
        return _out_of_range(amount.value, policy.valid_range, rules)
    return bool(policy.valid_values) and all(amount.value != parse(raw) for raw in policy.valid_values or ())


def _rounded(raw: RawQuantity, bounds: RequestPolicyRange, raw_min: RawQuantity, rules: Rules) -> Amount:
    requested, least = parse(raw), parse(raw_min)
    if requested < least:
        return Amount(least, raw_min)
    if bounds.step is None:
        return Amount(requested, raw)
    step = parse(bounds.step)
    if _in_millis(bounds, rules):
        return Amount(_rounded_millis(requested, least, step), None)
    return Amount(_rounded_units(requested, least, step, rules), None)


def _rounded_units(requested: Quantity, least: Quantity, step: Quantity, rules: Rules) -> Quantity:
    if requested > Quantity.of_int(_LARGEST) and rules.fixed:
        raise CapacityFault(f"{_NOT_REPRESENTABLE}: request {requested.text} exceeds MaxInt64")
    amount = _next_step(requested.units, least.units, step.units)
    if amount > _LARGEST and least.units >= 0 and rules.fixed:
        raise CapacityFault(
            f"{_NOT_REPRESENTABLE}: rounding request {requested.text} up to the next step passes MaxInt64"
        )
    return Quantity.of_int(amount, step.format if rules.fixed else BINARY)


def _rounded_millis(requested: Quantity, least: Quantity, step: Quantity) -> Quantity:
    if not _exact_millis(requested):
        raise CapacityFault(f"{_NOT_REPRESENTABLE}: request {requested.text} is not a representable milli value")
    amount = _next_step(requested.millis, least.millis, step.millis)
    if amount > _LARGEST:
        raise CapacityFault(
            f"{_NOT_REPRESENTABLE}: rounding request {requested.text} up to the next step passes the milli-value range"
        )
    if amount % 1000 == 0:
        return Quantity.of_int(amount // 1000, step.format)
    return Quantity.of_millis(amount, step.format)


def _next_step(requested: int, least: int, step: int) -> int:
    if step == 0:
        raise CapacityFault("the step of the capacity's request policy is zero")
    above = requested - least
    # Go divides towards zero and then adds one for any remainder.
    steps = abs(above) // abs(step) * (1 if (above < 0) == (step < 0) else -1)
    return least + step * (steps + (above % step != 0))


def _out_of_range(amount: Quantity, bounds: RequestPolicyRange, rules: Rules) -> bool:
    if bounds.max is not None and amount > parse(bounds.max):
        return True
    if bounds.step is None:
        return False
    step, least = parse(bounds.step), parse(bounds.min if bounds.min is not None else "0")
    if _in_millis(bounds, rules):
        return not _exact_millis(amount) or _off_step(amount.millis - least.millis, step.millis)
    return _off_step(amount.units - least.units, step.units)


def _off_step(above: int, step: int) -> bool:
    if step == 0:
        raise CapacityFault("the step of the capacity's request policy is zero")
    return above % step != 0


def _in_millis(bounds: RequestPolicyRange, rules: Rules) -> bool:
    if not rules.fractional:
        return False
    given = [parse(raw) for raw in (bounds.min, bounds.max, bounds.step) if raw is not None]
    return all(map(_exact_millis, given)) and (bounds.step is None or parse(bounds.step).millis >= 1)


def _exact_millis(amount: Quantity) -> bool:
    return amount == Quantity.of_millis(amount.millis)


def _is_default(amount: Amount, default: RawQuantity) -> bool:
    # Upstream compares the two as they are held in memory, where no two wide amounts are the same.
    return amount.written == default and not amount.value.is_wide
