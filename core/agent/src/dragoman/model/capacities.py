"""Capacities of a device and their request policies as the API takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dragoman.model.limits import VALID_VALUES, Unfit, is_qualified_name
from dragoman.model.slice_attributes import Warn
from dragoman_allocator.quantity import InvalidQuantity, Quantity, parse_text
from dragoman_hookspecs import Capacity, RequestPolicy

_LARGEST = Quantity.of_int(2**63 - 1)
_MOST_ZEROS = 1000


def amount(text: object) -> Quantity:
    """Read a quantity that a manager wrote. Raises ``InvalidQuantity``.

    Also for more than a thousand zeros: the API takes them, but no device has them, and a scheduler that compares
    such an amount with another may not come to an end.
    """
    if not isinstance(text, str):
        raise InvalidQuantity(f"{text!r} is not a quantity: a quantity is a text such as '4' or '1.5Gi'")
    quantity = parse_text(text)
    if quantity.decimal[1] > _MOST_ZEROS:
        raise InvalidQuantity(f"{text!r} is not a quantity that a device can have")
    return quantity


def amount_fault(text: object) -> str:
    """Say why ``amount`` does not read it, or ""."""
    try:
        amount(text)
    except InvalidQuantity as error:
        return str(error)
    return ""


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
        if item.policy is not None and (fault := _policy_fault(amount(item.value), item.policy, shareable)):
            warn(f"capacity {name}", f"request policy dropped: {fault}")
            kept[name] = replace(item, policy=None)
    return kept


def _fault(name: str, item: Capacity) -> str:
    if not is_qualified_name(name):
        return "the name is not a C identifier of at most 32 characters, with or without a domain"
    return amount_fault(item.value)


def _policy_fault(value: Quantity, policy: RequestPolicy, shareable: bool) -> str:
    ranged = any(bound is not None for bound in (policy.minimum, policy.maximum, policy.step))
    if not shareable:
        return "only a shareable device can have one"
    if policy.valid_values and ranged:
        return "valid values and a range exclude each other"
    if (policy.valid_values or ranged) and policy.default is None:
        return "it needs a default"
    try:
        default = amount(policy.default or "0")
        if policy.valid_values:
            return _values_fault(value, default, [amount(text) for text in policy.valid_values])
        return _range_fault(value, default, policy) if ranged else ""
    except InvalidQuantity as error:
        return str(error)


def _values_fault(value: Quantity, default: Quantity, values: Sequence[Quantity]) -> str:
    if len(values) > VALID_VALUES:
        return f"it has more than {VALID_VALUES} valid values"
    # The API finds duplicates among the values as rounded up to whole numbers.
    if sorted(set(values)) != values or len({one.units for one in values}) != len(values):
        return "the valid values do not ascend by whole numbers"
    if values[-1] > value:
        return "a valid value is larger than the capacity"
    return "" if default in values else "the default is not a valid value"


def _range_fault(value: Quantity, default: Quantity, policy: RequestPolicy) -> str:
    if policy.minimum is None:
        return "a range needs a minimum"
    low = amount(policy.minimum)
    tops = [] if policy.maximum is None else [amount(policy.maximum)]
    steps = [] if policy.step is None else [amount(policy.step)]
    ascending = [low, default, *tops, value]
    if sorted(ascending) != ascending:
        return "minimum, default, maximum and capacity do not ascend"
    if _is_too_fine([low, default, *tops, *steps]):
        return "beside a fraction, every number of a range is a whole number of thousandths below 2^63"
    return _step_fault(value, low, steps[0], [default, *tops]) if steps else ""


def _is_too_fine(numbers: Sequence[Quantity]) -> bool:
    # With fractions switched on, the API calculates in thousandths where one of the numbers is a fraction.
    fraction = any(one.nanos % 10**9 for one in numbers)
    return fraction and any(Quantity.of_millis(one.millis) != one for one in numbers)


def _step_fault(value: Quantity, low: Quantity, step: Quantity, stops: Sequence[Quantity]) -> str:
    if step.sign <= 0:
        return "the step is not positive"
    if any(one.sign < 0 or one > _LARGEST for one in (low, step, *stops)):
        return "with a step every number lies between 0 and 2^63-1"
    if low + step > value:
        return "the capacity is smaller than minimum and one step"
    # Unless fractions are switched on, the API rounds each number up before it checks the steps: both must hold.
    if any((stop.nanos - low.nanos) % step.nanos or (stop.units - low.units) % step.units for stop in stops):
        return "default and maximum are not whole steps above the minimum"
    return ""
