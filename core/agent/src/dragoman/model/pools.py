"""Logical pools: which devices are published, and under which value of the attribute ``pool``."""

from __future__ import annotations

from dataclasses import dataclass


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
