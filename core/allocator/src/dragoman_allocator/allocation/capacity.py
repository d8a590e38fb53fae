"""Consumable capacity: what a request takes of a device, worked out once per device, and whether that is free."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.policy import Amount, CapacityFault, consumed, violates
from dragoman_allocator.allocation.rules import Rules
from dragoman_allocator.allocation.use import DeviceUse
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import RawQuantity
from dragoman_allocator.quantity import parse


class Amounts:
    """What one request takes of one device; amounts in units of 1n."""

    __slots__ = ("_alone", "_limits", "recorded", "taken")

    def __init__(self, taken: list[tuple[str, int]], limits: list[int], recorded: dict[str, RawQuantity]) -> None:
        self.taken = taken
        self.recorded = recorded
        self._limits = limits
        self._alone = all(amount <= limit for (_, amount), limit in zip(taken, limits, strict=True))

    def fit_alone(self) -> bool:
        """Tell whether the device has enough when nobody else uses it."""
        return self._alone

    def fit(self, use: DeviceUse) -> bool:
        """Tell whether the device has enough beside what it is used for now."""
        stored, attempt = use.consumed, use.attempt_consumed
        if not stored and not attempt:
            return self._alone
        return all(
            stored.get(name, 0) + attempt.get(name, 0) + amount <= limit
            for (name, amount), limit in zip(self.taken, self._limits, strict=True)
        )


_NOTHING = Amounts([], [], {})


class Demand:
    """The capacity that a request asks for, and what that means on each device."""

    def __init__(self, requests: Mapping[str, RawQuantity], rules: Rules) -> None:
        self._requests = requests
        self._rules = rules
        self._on: dict[DeviceRecord, Amounts | None] = {}

    def on(self, device: DeviceRecord) -> Amounts | None:
        """Give what is taken of the device; None where it lacks a capacity or its policy forbids the amount.

        Raises ``InvalidInput`` where the whole attempt must end.
        """
        try:
            return self._on[device]
        except KeyError:
            amounts = self._on[device] = self._resolve(device)
            return amounts

    def _resolve(self, device: DeviceRecord) -> Amounts | None:
        capacities = device.spec.capacity or {}
        if not self._rules.capacity:
            return _NOTHING
        if not capacities.keys() >= self._requests.keys():
            return None
        amounts = {name: self._amount(name, device) for name in capacities}
        if any(violates(amounts[name], capacity.request_policy, self._rules) for name, capacity in capacities.items()):
            return None
        if not amounts:
            return _NOTHING
        return Amounts(
            [(name, amount.value.nanos) for name, amount in amounts.items()],
            [parse(capacity.value).nanos for capacity in capacities.values()],
            {name: amount.value.text for name, amount in amounts.items()},
        )

    def _amount(self, name: str, device: DeviceRecord) -> Amount:
        assert device.spec.capacity is not None
        try:
            amount = consumed(self._requests.get(name), device.spec.capacity[name], self._rules)
        except InvalidInput as problem:
            raise CapacityFault(f'capacity "{name}": {problem}') from problem
        if amount.value.sign < 0 and self._rules.fixed:
            raise CapacityFault(f'capacity "{name}": capacity value is negative')
        return amount
