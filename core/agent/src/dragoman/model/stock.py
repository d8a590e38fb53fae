"""What this node has: the managers' last lists merged with the devices that the ledger holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dragoman.model.records import AllocationRow
from dragoman_hookspecs import CounterSet, Device, Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class Stocked:
    """A device that this node has. ``withheld`` says why it must not be published whatever the pools say.

    ``seen`` is False for a device that only the ledger knows: it is inside a pod, or its manager is silent.
    """

    device: Device
    manager: str
    withheld: str = ""
    seen: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """Everything that this node has, in name order. Only devices that are withheld share a name with another one.

    ``counter_sets`` and ``partition_types`` (names of attributes) are by manager type.
    """

    devices: tuple[Stocked, ...] = ()
    counter_sets: Mapping[str, Sequence[CounterSet]] = field(default_factory=dict)
    partition_types: Mapping[str, str] = field(default_factory=dict)

    def owners(self) -> dict[str, str]:
        """Give the manager of each device that is not withheld."""
        return {item.device.name: item.manager for item in self.devices if not item.withheld}


def listing_fault(listing: Inventory) -> str:
    """Say what in a list is not of the type that the plugin API asks for, or "".

    Only what tells devices apart is looked at; a wrong value of one device costs that device when it is published.
    """
    for device in listing.devices:
        if not isinstance(device, Device) or not isinstance(device.name, str) or not _is_text(device.link):
            return f"{device!r} is not a device with a name and a link"
    for item in listing.counter_sets:
        if not isinstance(item, CounterSet) or not isinstance(item.name, str) or not isinstance(item.counters, Mapping):
            return f"{item!r} is not a counter set with a name and counters"
    return "" if _is_text(listing.partition_type_attribute) else "partition_type_attribute is not a name"


def merge(
    lists: Mapping[str, Inventory], rows: Iterable[AllocationRow], protected: frozenset[str] | None = frozenset()
) -> Stock:
    """Merge the managers' lists, in the managers' order, with the rows of the ledger.

    A name belongs to the manager that holds it in the ledger, else to the first that lists it. A device that is
    allocated whole stands as it was recorded: inside a pod its manager sees less of it, or nothing. ``protected`` are
    the host links that must stay on the host, None while they are not known.
    """
    held = _held(rows)
    found: dict[str, Stocked] = {}
    refused: list[Stocked] = []
    for manager, listing in lists.items():
        for device in listing.devices:
            row = held.get(device.name)
            owner = found[device.name].manager if device.name in found else row.manager if row else manager
            if owner != manager or device.name in found:
                refused.append(Stocked(device=device, manager=manager, withheld=_collision(owner, manager)))
                continue
            withheld = "" if row else _protection(device, protected)
            found[device.name] = Stocked(device=_as_held(device, row), manager=manager, withheld=withheld)
    for name in held.keys() - found.keys():
        found[name] = Stocked(device=held[name].device, manager=held[name].manager, seen=False)
    return Stock(
        devices=tuple(sorted([*found.values(), *refused], key=lambda item: (item.device.name, bool(item.withheld)))),
        counter_sets={manager: listing.counter_sets for manager, listing in lists.items() if listing.counter_sets},
        partition_types={
            manager: listing.partition_type_attribute
            for manager, listing in lists.items()
            if listing.partition_type_attribute
        },
    )


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _held(rows: Iterable[AllocationRow]) -> dict[str, AllocationRow]:
    """Give one row of each allocated device. Admin access holds nothing."""
    held: dict[str, AllocationRow] = {}
    for row in rows:
        if not row.admin_access:
            held.setdefault(row.key.device, row)
    return held


def _as_held(device: Device, row: AllocationRow | None) -> Device:
    if row is None or row.key.share_id:
        return device
    return replace(row.device, taints=device.taints)


def _collision(owner: str, manager: str) -> str:
    if owner == manager:
        return f"manager {manager} lists it twice; the first is used"
    return f"managers {owner} and {manager} both have a device of this name; that of {owner} is used"


def _protection(device: Device, protected: frozenset[str] | None) -> str:
    if device.link is None or device.allow_multiple_allocations:
        return ""
    if protected is None:
        return f"whether the host needs link {device.link} is not known yet"
    if device.link in protected:
        return f"link {device.link} carries a default route of the host, or is part of a link that does"
    return ""
