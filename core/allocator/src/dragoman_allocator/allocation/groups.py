"""Compatibility groups of devices that consume from the same counter set (KEP-5963, DRADeviceCompatibilityGroups)."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_allocator.allocation.devices import DeviceRecord

Members = frozenset[str] | None
"""What the devices on a counter set have in common; None where they declare no groups at all."""

Saved = list[tuple[str, Members, bool]]


class GroupLedger:
    """Per counter set of a pool, what its devices have in common; a set without devices has no entry."""

    __slots__ = ("_common", "_devices", "_stale")

    def __init__(self, devices: Sequence[DeviceRecord]) -> None:
        self._devices = [device for device in devices if device.consumes]
        self._common: dict[str, Members] = {}
        self._stale = True
        for device in self._devices:
            device.ledgers.append(self)

    def settle(self, device: DeviceRecord, sign: int) -> None:
        """See ``DeviceLedger``: an intersection cannot be taken back, so it is worked out again."""
        self._stale = True

    def take(self, device: DeviceRecord) -> Saved | None:
        """Add the device to its counter sets and give what ``give`` needs; None where it is not compatible."""
        if self._stale:
            self._read_stored()
        saved: Saved = []
        for part in device.spec.consumes_counters or ():
            groups = frozenset(part.compatibility_groups or ()) or None
            name = part.counter_set
            present = name in self._common
            common = self._common.get(name)
            if present and not _admits(common, groups):
                self.give(saved)
                return None
            saved.append((name, common, present))
            self._common[name] = _joined(common, groups) if present else groups
        return saved

    def give(self, saved: Saved) -> None:
        """Restore the state before ``take``."""
        for name, common, present in reversed(saved):
            if present:
                self._common[name] = common
            else:
                del self._common[name]

    def _read_stored(self) -> None:
        self._stale = False
        self._common.clear()
        for device in self._devices:
            if device.use.allocated:
                for part in device.spec.consumes_counters or ():
                    groups = frozenset(part.compatibility_groups or ()) or None
                    name = part.counter_set
                    self._common[name] = _joined(self._common[name], groups) if name in self._common else groups


def _admits(common: Members, groups: Members) -> bool:
    if common is None or groups is None:
        return common is groups
    return not common.isdisjoint(groups)


def _joined(common: Members, groups: Members) -> Members:
    # Stored devices may contradict each other; one without groups then changes nothing.
    return common if common is None or groups is None else common & groups
