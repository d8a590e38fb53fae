"""What a share of a device consumes, and what is left (resource.k8s.io, consumable capacity)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dragoman.model import quantity
from dragoman_hookspecs import JsonObject


def consumed(capacity: Mapping[str, JsonObject], requested: Mapping[str, Any]) -> dict[str, Fraction] | None:
    """Give what a request consumes of each capacity of a shareable device, or None where it asks for what is not there.

    A capacity that is not requested is consumed by the policy's default, without a policy wholly.
    """
    if set(requested) - set(capacity):
        return None
    amounts: dict[str, Fraction] = {}
    for name, entry in capacity.items():
        amount = _amount(entry, requested.get(name))
        if amount is None:
            return None
        amounts[name] = amount
    return amounts


def fits(capacity: Mapping[str, JsonObject], amounts: Mapping[str, Fraction], used: Mapping[str, Fraction]) -> bool:
    """Tell whether the amounts are free."""
    return all(
        used.get(name, Fraction(0)) + amount <= quantity.parse(str(capacity[name]["value"]))
        for name, amount in amounts.items()
    )


def satisfies(capacity: Mapping[str, JsonObject], requested: Mapping[str, Any]) -> bool:
    """Tell whether a device that is given as a whole is large enough."""
    return all(
        name in capacity and quantity.parse(str(wanted)) <= quantity.parse(str(capacity[name]["value"]))
        for name, wanted in requested.items()
    )


def _amount(entry: JsonObject, wanted: Any) -> Fraction | None:
    policy = entry.get("requestPolicy") or {}
    if wanted is None:
        return quantity.parse(str(policy.get("default", entry["value"])))
    amount = quantity.parse(str(wanted))
    if values := policy.get("validValues"):
        return min((value for value in map(quantity.parse, map(str, values)) if value >= amount), default=None)
    if bounds := policy.get("validRange"):
        return _in_range(amount, {key: quantity.parse(str(value)) for key, value in bounds.items()})
    return amount


def _in_range(amount: Fraction, bounds: Mapping[str, Fraction]) -> Fraction | None:
    low = bounds["min"]
    amount = max(amount, low)
    if "step" in bounds:
        amount = low + quantity.round_up((amount - low) / bounds["step"]) * bounds["step"]
    return None if amount > bounds.get("max", amount) else amount
