"""What allocated claims hold: whole devices, shares of devices and consumed capacity (api-semantics 2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dragoman_allocator.allocation.checks import DeviceId
from dragoman_allocator.objects import DeviceResult
from dragoman_allocator.quantity import parse


class Watcher(Protocol):
    """What changes when a stored result takes or releases a device."""

    def settle(self, sign: int) -> None:
        """Take note that the device is allocated now (1), or no longer (-1)."""


class DeviceUse:
    """Who uses one device: claims stored before, and the attempt that runs.

    ``held`` counts results that hold the whole device, ``recorded`` those with consumed capacity; amounts in 1n.
    """

    __slots__ = ("attempt_consumed", "attempt_shares", "consumed", "held", "marks", "recorded", "shares", "watchers")

    def __init__(self) -> None:
        self.held = 0
        self.shares: dict[str, int] = {}
        self.recorded = 0
        self.consumed: dict[str, int] = {}
        self.marks: list[int] = []
        self.attempt_shares = 0
        self.attempt_consumed: dict[str, int] = {}
        self.watchers: list[Watcher] = []

    @property
    def shared(self) -> bool:
        """Tell whether a stored result shares the device."""
        return bool(self.recorded or self.shares)

    @property
    def allocated(self) -> bool:
        """Tell whether a stored result uses the device, so that its counters are taken."""
        return bool(self.held or self.recorded or self.shares)

    def share(self, amounts: Iterable[tuple[str, int]], sign: int) -> None:
        """Let the running attempt take (1) or return (-1) a share."""
        self.attempt_shares += sign
        consumed = self.attempt_consumed
        for name, amount in amounts:
            consumed[name] = consumed.get(name, 0) + sign * amount
        if not self.attempt_shares:
            consumed.clear()


class AllocatedState:
    """Use of all devices by stored results, by (driver, pool, device)."""

    def __init__(self, *, capacity: bool) -> None:
        """``capacity``: DRAConsumableCapacity is on; without it a share holds the whole device."""
        self._capacity = capacity
        self._uses: dict[DeviceId, DeviceUse] = {}

    def of(self, device: DeviceId) -> DeviceUse:
        """Give the use of a device, which need not be in any slice."""
        use = self._uses.get(device)
        if use is None:
            use = self._uses[device] = DeviceUse()
        return use

    def add(self, results: Iterable[DeviceResult]) -> None:
        """Count stored results; admin access uses nothing. Raises ``InvalidInput`` for a broken quantity."""
        self._apply(results, 1)

    def remove(self, results: Iterable[DeviceResult]) -> None:
        """Take back results that were added. Raises ``InvalidInput`` for a broken quantity."""
        self._apply(results, -1)

    def _apply(self, results: Iterable[DeviceResult], sign: int) -> None:
        for result in results:
            if result.admin_access:
                continue
            use = self.of((result.driver, result.pool, result.device))
            before = use.allocated
            if self._capacity and result.share_id is not None:
                _count_share(use, result.share_id, sign)
                _count_capacity(use, result, sign)
            else:
                use.held += sign
            if use.allocated is not before:
                for watcher in use.watchers:
                    watcher.settle(sign)


def _count_share(use: DeviceUse, share: str, sign: int) -> None:
    count = use.shares.get(share, 0) + sign
    if count:
        use.shares[share] = count
    else:
        use.shares.pop(share, None)


def _count_capacity(use: DeviceUse, result: DeviceResult, sign: int) -> None:
    if result.consumed_capacity is None:
        return
    use.recorded += sign
    for name, raw in result.consumed_capacity.items():
        use.consumed[name] = use.consumed.get(name, 0) + sign * parse(raw).nanos
    if not use.recorded:
        use.consumed.clear()
