"""Capacities of a device and their request policies as the API takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dragoman.model.limits import VALID_VALUES, Unfit, is_qualified_name
from dragoman.model.quantity import InvalidQuantity, is_quantity, parse, round_up
from dragoman.model.slice_attributes import Warn
from dragoman_hookspecs import Capacity, RequestPolicy

_LARGEST = 2**63 - 1


def fit_capacity(capacity: Mapping[str, Capacity], *, shareable: bool, room: int, warn: Warn) -> dict[str, Capacity]:
    """Give the capacities that the API takes, in name order.

    A policy that it would refuse is dropped: a request then takes the whole capacity unless it says otherwise. A
    capacity that it would refuse is dropped too, but not from a shareable device: that would be shared without limit.
    Raises ``Unfit``.
    """
    kept: dict[str, Capacity] = {}
    for name, item in sorted(capacity.items()):
        if fault := _fault(name, item) or ("" if len(kept) < room else "the device has too many capacities"):
            if shareable:
                raise Unfit(f"capacity {name}: {fault}; without it the device would be shared without limit")
            warn(f"capacity {name}", f"dropped: {fault}")
            continue
        kept[name] = item
        if item.policy is not None and (fault := _policy_fault(parse(item.value), item.policy, shareable)):
            warn(f"capacity {name}", f"request policy dropped: {fault}")
            kept[name] = replace(item, policy=None)
    return kept


def _fault(name: str, item: Capacity) -> str:
    if not is_qualified_name(name):
        return "the name is not a C identifier of at most 32 characters, with or without a domain"
    return "" if is_quantity(item.value) else f"{item.value!r} is not a quantity"


def _policy_fault(value: Fraction, policy: RequestPolicy, shareable: bool) -> str:
    ranged = any(bound is not None for bound in (policy.minimum, policy.maximum, policy.step))
    if not shareable:
        return "only a shareable device can have one"
    if policy.valid_values and ranged:
        return "valid values and a range exclude each other"
    if (policy.valid_values or ranged) and policy.default is None:
        return "it needs a default"
    try:
        default = parse(policy.default or "0")
        if policy.valid_values:
            return _values_fault(value, default, [parse(text) for text in policy.valid_values])
        return _range_fault(value, default, policy) if ranged else ""
    except InvalidQuantity as error:
        return str(error)


def _values_fault(value: Fraction, default: Fraction, values: Sequence[Fraction]) -> str:
    if len(values) > VALID_VALUES:
        return f"it has more than {VALID_VALUES} valid values"
    # The API finds duplicates among the values as rounded up to whole numbers.
    if sorted(set(values)) != values or len(set(map(round_up, values))) != len(values):
        return "the valid values do not ascend by whole numbers"
    if values[-1] > value:
        return "a valid value is larger than the capacity"
    return "" if default in values else "the default is not a valid value"


def _range_fault(value: Fraction, default: Fraction, policy: RequestPolicy) -> str:
    if policy.minimum is None:
        return "a range needs a minimum"
    low = parse(policy.minimum)
    tops = [] if policy.maximum is None else [parse(policy.maximum)]
    ascending = [low, default, *tops, value]
    if sorted(ascending) != ascending:
        return "minimum, default, maximum and capacity do not ascend"
    if policy.step is None:
        return ""
    step = parse(policy.step)
    # Unless fractions are switched on, the API rounds each number up before it checks the steps: both must hold.
    stops = [default, *tops]
    return _step_fault(value, low, step, stops) or _step_fault(_up(value), _up(low), _up(step), [*map(_up, stops)])


def _up(number: Fraction) -> Fraction:
    return Fraction(round_up(number))


def _step_fault(value: Fraction, low: Fraction, step: Fraction, stops: Sequence[Fraction]) -> str:
    if step <= 0:
        return "the step is not positive"
    if any(number < 0 or number > _LARGEST for number in (low, step, *stops)):
        return "with a step every number lies between 0 and 2^63-1"
    if low + step > value:
        return "the capacity is smaller than minimum and one step"
    if any((stop - low) % step for stop in stops):
        return "default and maximum are not whole steps above the minimum"
    return ""
