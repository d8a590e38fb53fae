"""Shared counters of one pool (KEP-4815): what is left after stored results and the running attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.objects import CounterSet
from dragoman_allocator.quantity import parse

Charge = tuple[tuple[int, int], ...]
"""Index of a counter and amount in units of 1n."""


class CounterLedger:
    """Amounts left of all counters of a pool, in units of 1n.

    A device fits only while no counter of the pool is below zero, whether it uses that counter or not.
    """

    __slots__ = ("_left", "_short", "charges")

    def __init__(self, sets: Mapping[str, CounterSet], devices: Iterable[DeviceRecord]) -> None:
        """Raises ``InvalidInput`` for a broken quantity; every counter that a device names must exist."""
        index: dict[tuple[str, str], int] = {}
        self._left: list[int] = []
        for name, counters in sets.items():
            for counter, declared in (counters.counters or {}).items():
                index[name, counter] = len(self._left)
                self._left.append(parse(declared.value).nanos)
        self._short = sum(left < 0 for left in self._left)
        self.charges: dict[DeviceRecord, Charge] = {}
        for device in devices:
            if device.consumes:
                self.charges[device] = tuple((index[key[:2]], key[2]) for key in device.consumption())
                device.ledgers.append(self)
                if device.use.allocated:
                    self._add(self.charges[device], -1)

    def settle(self, device: DeviceRecord, sign: int) -> None:
        """See ``DeviceLedger``."""
        self._add(self.charges[device], -sign)

    def take(self, device: DeviceRecord) -> bool:
        """Charge the device where that leaves no counter below zero; False changes nothing."""
        charge = self.charges[device]
        self._add(charge, -1)
        if self._short:
            self._add(charge, 1)
            return False
        return True

    def give(self, device: DeviceRecord) -> None:
        """Return what ``take`` charged."""
        self._add(self.charges[device], 1)

    def _add(self, charge: Charge, sign: int) -> None:
        left = self._left
        for index, amount in charge:
            before = left[index]
            after = left[index] = before + sign * amount
            self._short += (after < 0) - (before < 0)
