"""Logical pools: which devices are published, and under which value of the attribute ``pool``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from dragoman.model.records import AllocationRow
from dragoman_hookspecs import Device, FilterValue, Match, json_key


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFilter:
    """``pools[].filter`` of the settings. Fields are ANDed, values of a field ORed, compared exactly.

    An empty field asks for nothing, so an empty filter matches every device.
    """

    device_managers: tuple[str, ...] = ()
    if_names: tuple[str, ...] = ()
    pf_names: tuple[str, ...] = ()
    parent_if_names: tuple[str, ...] = ()
    pci_addrs: tuple[str, ...] = ()
    vendor_ids: tuple[str, ...] = ()
    device_ids: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolConfig:
    """One entry of ``pools`` of the settings. Without a filter it matches nothing."""

    name: str
    filter: PoolFilter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What the pools say of one device.

    ``pool`` is the value of the attribute, None where no pool is configured. ``refusal`` says why the device is not
    advertised ("" where it is). ``ambiguity`` is to be reported once: the device matches several pools.
    """

    pool: str | None = None
    refusal: str = ""
    ambiguity: str = ""


def matches(pool_filter: PoolFilter | None, device: Device, manager: str) -> bool:
    """Tell whether the filter takes the device of the manager of that type."""
    if pool_filter is None:
        return False
    answers: Mapping[str, FilterValue] = {**device.filter_values, "deviceManagers": manager}
    return all(_answers(answers.get(field, Match.NEVER), wanted) for field, wanted in _asked(pool_filter))


def pins(rows: Iterable[AllocationRow]) -> dict[str, frozenset[str | None]]:
    """Give the logical pools in which each allocated device is held. Admin access holds nothing."""
    held: dict[str, set[str | None]] = {}
    for row in rows:
        if not row.admin_access:
            held.setdefault(row.key.device, set()).add(row.logical_pool)
    return {device: frozenset(pools) for device, pools in held.items()}


def assign(
    device: Device, manager: str, pools: Sequence[PoolConfig], pinned: Collection[str | None] = frozenset()
) -> Assignment:
    """Give the pool of a device: the recorded one while it is allocated, else the alphabetically first that matches.

    A recorded pool holds even when it is configured no more (or was none): what a running pod was told of its device
    stays true until the last allocation of the device ends, whatever the settings say in the meantime.
    """
    found = sorted(pool.name for pool in pools if matches(pool.filter, device, manager))
    if len(pinned) > 1:
        names = ", ".join(sorted(name or "(none)" for name in pinned))
        return Assignment(refusal=f"its allocations name different pools: {names}")
    if pinned:
        return Assignment(pool=next(iter(pinned)), ambiguity=_ambiguity(found))
    if not pools:
        return Assignment()
    if not found:
        return Assignment(refusal="no pool matches it")
    return Assignment(pool=found[0], ambiguity=_ambiguity(found))


def _asked(pool_filter: PoolFilter) -> Iterable[tuple[str, tuple[str, ...]]]:
    for field in fields(pool_filter):
        wanted: tuple[str, ...] = getattr(pool_filter, field.name)
        if wanted:
            yield json_key(field.name), wanted


def _answers(value: FilterValue, wanted: Collection[str]) -> bool:
    if isinstance(value, Match):
        return value is Match.ALWAYS
    if isinstance(value, str):
        return value in wanted
    return not value.isdisjoint(wanted)


def _ambiguity(found: Sequence[str]) -> str:
    return f"it matches several pools: {', '.join(found)}" if len(found) > 1 else ""
