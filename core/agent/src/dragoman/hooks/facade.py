"""The typed facade over the hooks: one method a hook, with thread, time limit, isolation and logging.

Nobody else touches pluggy or a plugin object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.hooks.calls import NOTHING, About, Limits, PluginCalls, PluginFault, PluginMissing, PluginTimeout, about
from dragoman.hooks.lifecycle import Applied, Lifecycle, RunRequest, Sleeper
from dragoman.hooks.watches import WatchClock
from dragoman.plugins import LoadedPlugin, PluginSet, PluginStatus, Sections
from dragoman_hookspecs import (
    Allocation,
    AttachDevice,
    Attached,
    CheckConfig,
    ContainerEdits,
    DescribeDevice,
    DetachDevice,
    Device,
    DeviceManager,
    DragomanError,
    FreeDevice,
    HealthReport,
    InvalidConfig,
    Inventory,
    JsonObject,
    Metadata,
    MetadataClaim,
    MetadataDevice,
    Netns,
    PlanDevice,
    Prepared,
    Record,
    RecoverDevices,
    Recovered,
    RemoveMetadata,
    SetupDevice,
    WriteMetadata,
    WrittenMetadata,
)
from dragoman_hookspecs.descriptors import Schema

__all__ = ["Applied", "Hooks", "Limits", "ManagerInfo", "PluginFault", "PluginMissing", "PluginTimeout"]


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

    A call past its limit is left behind. Until it returns, calls for the same device raise ``PluginTimeout`` at once,
    except ``detach_device``, ``free_device`` and ``remove_metadata``, which wait for it within their own limit. The
    same holds for a call whose waiter is cancelled. ``inline`` runs the hooks in the caller, without threads and
    limits, for tests in virtual time; watch hooks then have to return. ``controllers`` runs cluster controllers, which
    a node agent does not.
    """

    def __init__(
        self,
        plugins: PluginSet,
        limits: Limits | None = None,
        *,
        inline: bool = False,
        sleeper: Sleeper | None = None,
        watch_clock: WatchClock | None = None,
        controllers: RunRequest | None = None,
    ) -> None:
        def calls(plugin: LoadedPlugin) -> PluginCalls:
            return PluginCalls(plugin, limits or Limits(), inline=inline)

        self._life = Lifecycle(
            plugins, calls, inline=inline, sleeper=sleeper, watch_clock=watch_clock, controllers=controllers
        )

    def managers(self) -> Sequence[ManagerInfo]:
        """List the loaded device managers by name order of their distributions."""
        infos = [_info(calls) for calls in self._life.served if isinstance(calls.plugin.descriptor, DeviceManager)]
        return sorted(infos, key=lambda info: (info.distribution, info.type))

    def manager(self, type_: str) -> ManagerInfo:
        """Give one manager, or raise ``PluginMissing``."""
        return _info(self._of(type_))

    def statuses(self) -> Sequence[PluginStatus]:
        """Tell the state of every plugin, loaded or not."""
        return self._life.statuses()

    def unfinished(self) -> Sequence[str]:
        """Name the calls of all plugins that nobody waits for any more and that may still change a device or file."""
        return [call for calls in self._life.served for call in calls.unfinished()]

    async def start(self) -> None:
        """Start every plugin and its watch threads; failures are recorded and retried, never raised."""
        await self._life.start()

    async def stop(self) -> None:
        """Stop in reverse."""
        await self._life.stop()

    async def apply_settings(self, sections: Sections) -> Applied:
        """Give the plugins other sections: by their hook, or by stop, create and start.

        A plugin that cannot take its section keeps the old one and is named in ``failures``.
        """
        return await self._life.apply_settings(sections)

    def on_change(self, callback: Callable[[str], None]) -> None:
        """Have ``callback(manager type)`` called on the event loop when a manager hints that a scan is due."""
        self._life.on_change.append(callback)

    def on_late_start(self, callback: Callable[[str], None]) -> None:
        """Have ``callback(manager type)`` called on the event loop when a manager has started that could not before.

        It has missed what it is asked at start: its devices have to be recovered.
        """
        self._life.on_late_start.append(callback)

    def on_health(self, callback: Callable[[str, Sequence[HealthReport] | None], None]) -> None:
        """Have ``callback(manager type, reports)`` called on the event loop; None when the watch has failed."""
        self._life.on_health.append(callback)

    def has_health(self, type_: str) -> bool:
        """Tell whether the manager watches health at all."""
        return self._of(type_).plugin.has("watch_health")

    async def discover_devices(self, type_: str) -> Inventory:
        """Scan, on the manager's scan thread."""
        inventory: Inventory = await self._of(type_).call("discover_devices")
        return inventory

    async def check_config(self, type_: str, device: Device, allocation: Allocation) -> InvalidConfig | None:
        """Check parameters; None is fine, also where the hook is absent."""
        calls = self._of(type_)
        if not calls.plugin.has("check_config"):
            return None
        request = CheckConfig(device=device, allocation=allocation)
        try:
            fault: InvalidConfig | None = await calls.call("check_config", request, about=about(allocation))
        except InvalidConfig as error:
            return error
        return fault

    async def plan_device(self, type_: str, allocation: Allocation) -> JsonObject:
        """Plan; an empty object where the hook is absent."""
        calls = self._of(type_)
        if not calls.plugin.has("plan_device"):
            return {}
        request = PlanDevice(allocation=allocation)
        plan: JsonObject = await calls.call("plan_device", request, about=about(allocation))
        return plan

    async def setup_device(self, type_: str, allocation: Allocation, plan: JsonObject) -> Prepared:
        """Set up."""
        calls = self._of(type_)
        request = SetupDevice(allocation=allocation, plan=plan)
        prepared: Prepared = await calls.call("setup_device", request, about=about(allocation))
        if prepared.target is not None and not calls.plugin.has("attach_device"):
            why = "names a target to attach, and the plugin has no attach_device"
            raise PluginFault(f"setup_device of {calls.plugin.status}{about(allocation)} {why}")
        return prepared

    async def attach_device(self, type_: str, record: Record, netns: Netns) -> Attached:
        """Attach."""
        calls = self._with(type_, "attach_device")
        request = AttachDevice(record=record, netns=netns)
        attached: Attached = await calls.call("attach_device", request, about=about(record.allocation))
        return attached

    async def detach_device(self, type_: str, record: Record, netns: Netns | None) -> JsonObject:
        """Detach. Waits first for a call on this device that passed its limit."""
        calls = self._with(type_, "detach_device")
        request = DetachDevice(record=record, netns=netns)
        state: JsonObject = await calls.call("detach_device", request, about=about(record.allocation), patient=True)
        return state

    async def free_device(self, type_: str, record: Record) -> None:
        """Free. Waits first for a call on this device that passed its limit."""
        request = FreeDevice(record=record)
        await self._of(type_).call("free_device", request, about=about(record.allocation), patient=True)

    async def recover_devices(
        self, type_: str, records: Sequence[Record], *, complete: bool = False
    ) -> Sequence[Recovered]:
        """Recover; one answer for each record. ``complete``: these are all records of the manager."""
        subject = about(records[0].allocation) if len(records) == 1 and not complete else NOTHING
        request = RecoverDevices(records=tuple(records), complete=complete)
        recovered: Sequence[Recovered] = await self._of(type_).call("recover_devices", request, about=subject)
        return recovered

    async def device_metadata(self, type_: str, record: Record) -> Metadata:
        """Describe; empty where the hook is absent."""
        calls = self._of(type_)
        if not calls.plugin.has("device_metadata"):
            return Metadata()
        request = DescribeDevice(record=record)
        metadata: Metadata = await calls.call("device_metadata", request, about=about(record.allocation))
        return metadata

    async def container_edits(self, type_: str, record: Record) -> ContainerEdits:
        """Give edits; empty where the hook is absent."""
        calls = self._of(type_)
        if not calls.plugin.has("container_edits"):
            return ContainerEdits()
        request = DescribeDevice(record=record)
        edits: ContainerEdits = await calls.call("container_edits", request, about=about(record.allocation))
        return edits

    async def write_metadata(
        self, claim: MetadataClaim, devices: Sequence[MetadataDevice]
    ) -> Sequence[WrittenMetadata]:
        """Ask every writer that is enabled, in order; raises the first failure."""
        name = f"{claim.namespace}/{claim.name} ({claim.uid})"
        request = WriteMetadata(claim=claim, devices=tuple(devices))
        return [
            await calls.call("write_metadata", request, about=About(claim=name, key=("claim", claim.uid)))
            for calls in self._writers()
            if calls.plugin.enabled
        ]

    async def remove_metadata(self, claim_uid: str) -> None:
        """Ask every writer, all of them even if one fails; raises the first failure."""
        subject = About(claim=claim_uid, key=("claim", claim_uid))
        failures: list[DragomanError] = []
        for calls in self._writers():
            try:
                request = RemoveMetadata(claim_uid=claim_uid)
                await calls.call("remove_metadata", request, about=subject, patient=True)
            except DragomanError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _writers(self) -> list[PluginCalls]:
        return [calls for calls in self._life.served if calls.plugin.has("write_metadata")]

    def _of(self, type_: str) -> PluginCalls:
        for calls in self._life.served:
            if calls.plugin.status.type == type_ and isinstance(calls.plugin.descriptor, DeviceManager):
                return calls
        found = [f" ({status}: {status.reason})" for status in self.statuses() if status.type == type_]
        how = "install and enable the distribution that brings it"
        raise PluginMissing(f"device manager {type_} is not loaded{''.join(found)}: {how}")

    def _with(self, type_: str, hook: str) -> PluginCalls:
        calls = self._of(type_)
        if not calls.plugin.has(hook):
            raise PluginFault(f"{calls.plugin.status} has no {hook}")
        return calls


def _info(calls: PluginCalls) -> ManagerInfo:
    descriptor, status = calls.plugin.descriptor, calls.plugin.status
    assert isinstance(descriptor, DeviceManager)
    return ManagerInfo(
        type=descriptor.type,
        distribution=status.distribution,
        version=status.version,
        applies=descriptor.applies,
        parameters=descriptor.parameters,
        enabled=calls.plugin.enabled,
    )
