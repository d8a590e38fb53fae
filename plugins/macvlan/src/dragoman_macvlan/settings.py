"""Settings of the macvlan manager."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dragoman_hookspecs import Fault, InvalidConfig
from dragoman_hookspecs.rules import interface_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Iface:
    """One parent: ``count`` macvlan links of one ``mode`` on it.

    ``shared``: one shareable device with a capacity of ``count`` links, instead of ``count`` devices.
    """

    parent_if_name: str
    count: int = 1
    mode: Literal["bridge", "private", "vepa", "passthru", "source"] = "bridge"
    shared: bool = False

    def __post_init__(self) -> None:
        if faults := tuple(self._faults()):
            raise InvalidConfig(faults)

    def _faults(self) -> Iterator[Fault]:
        if fault := interface_name(self.parent_if_name):
            yield Fault("parentIfName", fault)
        if self.count < 0:
            yield Fault("count", f"must be 0 or more, not {self.count}")
        if self.mode == "passthru" and self.count > 1:
            yield Fault("count", "a parent takes one macvlan link of mode passthru only")


@dataclass(frozen=True, slots=True, kw_only=True)
class MacvlanSettings:
    """The parents; each stands once."""

    ifaces: tuple[Iface, ...] = ()

    def __post_init__(self) -> None:
        parents = [iface.parent_if_name for iface in self.ifaces]
        faults = [
            Fault(f"ifaces[{index}].parentIfName", f"{parent} stands twice")
            for index, parent in enumerate(parents)
            if parent in parents[:index]
        ]
        if faults:
            raise InvalidConfig(faults)
