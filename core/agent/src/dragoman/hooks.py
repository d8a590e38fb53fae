"""The typed facade over the hooks: one method a hook, with thread, time limit, isolation and logging.

Nobody else touches pluggy or a plugin object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman_hookspecs import (
    Allocation,
    Attached,
    ContainerEdits,
    Device,
    DragomanError,
    HealthReport,
    InvalidConfig,
    Inventory,
    JsonObject,
    Metadata,
    MetadataClaim,
    MetadataDevice,
    Netns,
    Prepared,
    Record,
    Recovered,
    WrittenMetadata,
)
from dragoman_hookspecs.descriptors import Schema


class PluginFault(DragomanError):
    """A hook raised something that is not a DragomanError, or answered with the wrong type. Names plugin and hook."""


class PluginTimeout(DragomanError):
    """A hook passed its limit; its effect is unknown until it returns. Names plugin, hook and limit."""


class PluginMissing(DragomanError):
    """No plugin of that type is loaded. Names the type and what to install or enable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerInfo:
    """What the engine may know of a loaded device manager."""

    type: str
    distribution: str
    version: str
    applies: frozenset[str]
    parameters: Schema | None
    enabled: bool
    """False: no new devices; prepared ones are still served."""


class Hooks:
    """Calls hooks. Errors: ``DragomanError`` as the hook raised it, ``PluginFault``, ``PluginTimeout``,
    ``PluginMissing``.
    """

    def managers(self) -> Sequence[ManagerInfo]:
        """List the loaded device managers by name order of their distributions."""
        raise NotImplementedError

    def manager(self, type_: str) -> ManagerInfo:
        """Give one manager, or raise ``PluginMissing``."""
        raise NotImplementedError

    async def start(self) -> None:
        """Start every plugin and its watch threads; failures are recorded and retried, never raised."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Stop in reverse."""
        raise NotImplementedError

    def on_change(self, callback: Callable[[str], None]) -> None:
        """Have ``callback(manager type)`` called on the event loop when a manager hints that a scan is due."""
        raise NotImplementedError

    def on_health(self, callback: Callable[[str, Sequence[HealthReport] | None], None]) -> None:
        """Have ``callback(manager type, reports)`` called on the event loop; None when the watch has failed."""
        raise NotImplementedError

    def has_health(self, type_: str) -> bool:
        """Tell whether the manager watches health at all."""
        raise NotImplementedError

    async def discover_devices(self, type_: str) -> Inventory:
        """Scan, on the manager's scan thread."""
        raise NotImplementedError

    async def check_config(self, type_: str, device: Device, allocation: Allocation) -> InvalidConfig | None:
        """Check parameters; None is fine, also where the hook is absent."""
        raise NotImplementedError

    async def plan_device(self, type_: str, allocation: Allocation) -> JsonObject:
        """Plan; an empty object where the hook is absent."""
        raise NotImplementedError

    async def setup_device(self, type_: str, allocation: Allocation, plan: JsonObject) -> Prepared:
        """Set up."""
        raise NotImplementedError

    async def attach_device(self, type_: str, record: Record, netns: Netns) -> Attached:
        """Attach."""
        raise NotImplementedError

    async def detach_device(self, type_: str, record: Record, netns: Netns | None) -> JsonObject:
        """Detach."""
        raise NotImplementedError

    async def free_device(self, type_: str, record: Record) -> None:
        """Free. Waits first for a call on this device that passed its limit."""
        raise NotImplementedError

    async def recover_devices(self, type_: str, records: Sequence[Record]) -> Sequence[Recovered]:
        """Recover; one answer for each record."""
        raise NotImplementedError

    async def device_metadata(self, type_: str, record: Record) -> Metadata:
        """Describe; empty where the hook is absent."""
        raise NotImplementedError

    async def container_edits(self, type_: str, record: Record) -> ContainerEdits:
        """Give edits; empty where the hook is absent."""
        raise NotImplementedError

    async def write_metadata(
        self, claim: MetadataClaim, devices: Sequence[MetadataDevice]
    ) -> Sequence[WrittenMetadata]:
        """Ask every writer, in order; raises the first failure."""
        raise NotImplementedError

    async def remove_metadata(self, claim_uid: str) -> None:
        """Ask every writer, all of them even if one fails; raises the first failure."""
        raise NotImplementedError
