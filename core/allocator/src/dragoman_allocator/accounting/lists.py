"""Amounts by resource name, as the API's resource lists calculate with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from dragoman_allocator import quantity
from dragoman_allocator.objects import RawQuantity
from dragoman_allocator.quantity import Quantity

Amounts: TypeAlias = dict[str, Quantity]

HUGEPAGES: Final = "hugepages-"
ZERO: Final = quantity.parse("0")

_NANOS_OF_MILLI: Final = 10**6


def read(raw: Mapping[str, RawQuantity] | None) -> Amounts:
    """Read the quantities of a resource list, rounded up to thousandths as the API server does when it stores one.

    Raises ``InvalidQuantity``.
    """
    return {name: _in_millis(quantity.parse(amount)) for name, amount in (raw or {}).items()}


def add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    """Add to a total, in place."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def charge(total: Amounts, name: str, amount: Quantity) -> None:
    """Add one amount to a total that begins at zero, so that the format is that of the first amount."""
    total[name] = total.get(name, ZERO) + amount


def raise_to(total: Amounts, other: Mapping[str, Quantity]) -> None:
    """Make each amount at least as large as the other's, in place."""
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def is_pod_level(name: str) -> bool:
    """Tell whether a pod may state the resource as a whole (``spec.resources``)."""
    return name in {"cpu", "memory"} or name.startswith(HUGEPAGES)


def texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    """Give the amounts as the API prints them."""
    return {name: amount.text for name, amount in amounts.items()}


def _in_millis(amount: Quantity) -> Quantity:
    return amount if amount.nanos % _NANOS_OF_MILLI == 0 else Quantity.of_millis(amount.millis, amount.format)
