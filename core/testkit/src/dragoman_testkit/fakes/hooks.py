"""Scripted device managers behind the facade of the hooks, run inline. Needs the agent (extra ``sandbox``).

The managers keep a small world of their own (what is set up, what is attached where), so that a test can see what was
left behind, and every call is recorded in order. Failures and delays are scripted for each hook::

    hooks = FakeHooks(FakeManager(type="dummy", inventory=Inventory(devices=(device,))))
    hooks.fail("setup_device", DeviceError("no room"), device="dummy1")
    gate = hooks.hold("attach_device")      # the call waits until gate.set()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from dragoman.hooks import Hooks, ManagerInfo, PluginMissing
from dragoman_hookspecs import (
    COMMON_PARAMETERS,
    Allocation,
    Attached,
    ContainerEdits,
    Device,
    HealthReport,
    InvalidConfig,
    Inventory,
    JsonObject,
    Link,
    Metadata,
    MetadataClaim,
    MetadataDevice,
    Netns,
    Prepared,
    Record,
    Recovered,
    Recovery,
    WrittenMetadata,
)
from dragoman_hookspecs.descriptors import Schema

_T = TypeVar("_T")

World = tuple[str, str, str]
"""A device in the managers' world: manager type, device name, share id or ""."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: hook, manager type ("" for writers), and the device, or the claim UID for writers."""

    hook: str
    manager: str
    subject: str = ""


@dataclass(slots=True, kw_only=True)
class FakeManager:
    """A scripted manager; every field may be changed while the test runs.

    ``answers`` replaces the default answer of a hook: hook name to a function of the hook's arguments (after the
    type). ``health`` tells whether it watches health at all.
    """

    type: str = "dummy"
    distribution: str = ""
    version: str = "1.0"
    applies: frozenset[str] = COMMON_PARAMETERS
    parameters: Schema | None = None
    enabled: bool = True
    health: bool = False
    inventory: Inventory = field(default_factory=lambda: Inventory(devices=()))
    answers: dict[str, Callable[..., object]] = field(default_factory=dict)

    def info(self) -> ManagerInfo:
        """Describe it as the facade does."""
        return ManagerInfo(
            type=self.type,
            distribution=self.distribution or f"dragoman-{self.type}",
            version=self.version,
            applies=self.applies,
            parameters=self.parameters,
            enabled=self.enabled,
        )


@dataclass(slots=True)
class _Failure:
    hook: str
    error: Exception
    device: str | None
    times: int
    after: bool


class FakeHooks(Hooks):
    """The facade over ``FakeManager`` objects.

    ``set_up`` and ``attached`` are the managers' world: devices that setup made and free has not undone, and the
    network namespace path in which each attached device is. ``written`` holds what the writer was told last, by claim
    UID. ``writers`` is what ``write_metadata`` answers. ``running`` is True between start and stop.
    """

    def __init__(self, *managers: FakeManager) -> None:
        self.fakes: dict[str, FakeManager] = {fake.type: fake for fake in managers}
        self.calls: list[Call] = []
        self.set_up: set[World] = set()
        self.attached: dict[World, str] = {}
        self.written: dict[str, tuple[MetadataDevice, ...]] = {}
        self.writers: Sequence[WrittenMetadata] = ()
        self.running = False
        self._failures: list[_Failure] = []
        self._gates: dict[tuple[str, str | None], asyncio.Event] = {}
        self._on_change: list[Callable[[str], None]] = []
        self._on_health: list[Callable[[str, Sequence[HealthReport] | None], None]] = []

    # --- the test's side ---------------------------------------------------------------------------------------

    def fail(
        self, hook: str, error: Exception, *, device: str | None = None, times: int = 1, after: bool = False
    ) -> None:
        """Have the next ``times`` calls of the hook raise, before its effect or after it."""
        self._failures.append(_Failure(hook, error, device, times, after))

    def hold(self, hook: str, *, manager: str | None = None) -> asyncio.Event:
        """Have every call of the hook, or those of one manager, wait until the event that is returned is set."""
        return self._gates.setdefault((hook, manager), asyncio.Event())

    def hint(self, type_: str) -> None:
        """Hint that a scan is due, as ``watch_devices`` does."""
        for callback in self._on_change:
            callback(type_)

    def report(self, type_: str, *reports: HealthReport) -> None:
        """Report health, as ``watch_health`` does."""
        for callback in self._on_health:
            callback(type_, reports)

    def health_failed(self, type_: str) -> None:
        """Say that the health watch has failed."""
        for callback in self._on_health:
            callback(type_, None)

    def called(self, hook: str) -> list[str]:
        """List the subjects of the calls of one hook, in order."""
        return [call.subject for call in self.calls if call.hook == hook]

    # --- the facade --------------------------------------------------------------------------------------------

    def managers(self) -> Sequence[ManagerInfo]:
        """List the managers by name order of their distributions."""
        return sorted((fake.info() for fake in self.fakes.values()), key=lambda info: info.distribution)

    def manager(self, type_: str) -> ManagerInfo:
        """Give one manager, or raise ``PluginMissing``."""
        return self._fake(type_).info()

    async def start(self) -> None:
        """Start."""
        self.running = True

    async def stop(self) -> None:
        """Stop."""
        self.running = False

    def on_change(self, callback: Callable[[str], None]) -> None:
        """Take a callback for ``hint``."""
        self._on_change.append(callback)

    def on_health(self, callback: Callable[[str, Sequence[HealthReport] | None], None]) -> None:
        """Take a callback for ``report`` and ``health_failed``."""
        self._on_health.append(callback)

    def has_health(self, type_: str) -> bool:
        """Tell what the manager's ``health`` says."""
        return self._fake(type_).health

    async def discover_devices(self, type_: str) -> Inventory:
        """Give the manager's ``inventory``."""
        return await self._run("discover_devices", type_, "", lambda: self._fake(type_).inventory)

    async def check_config(self, type_: str, device: Device, allocation: Allocation) -> InvalidConfig | None:
        """Find everything fine."""
        return await self._run("check_config", type_, device.name, lambda: None, device, allocation)

    async def plan_device(self, type_: str, allocation: Allocation) -> JsonObject:
        """Plan to use the device's link, or a link of its name."""
        device = allocation.device
        return await self._run(
            "plan_device", type_, device.name, lambda: {"link": device.link or device.name}, allocation
        )

    async def setup_device(self, type_: str, allocation: Allocation, plan: JsonObject) -> Prepared:
        """Set up: the target is the planned link."""

        def effect() -> Prepared:
            self.set_up.add(_world(type_, allocation))
            link = Link(name=str(plan.get("link", allocation.device.name)), identity=allocation.device.identity)
            return Prepared(state={"link": link.name}, target=link)

        return await self._run("setup_device", type_, allocation.device.name, effect, allocation, plan)

    async def attach_device(self, type_: str, record: Record, netns: Netns) -> Attached:
        """Attach under ``podIfName`` or the device's name."""

        def effect() -> Attached:
            self.attached[_world(type_, record.allocation)] = netns.path
            parameters = record.allocation.parameters
            name = parameters.pod_if_name or record.allocation.device.name
            state = record.prepared.state if record.prepared else {}
            return Attached(interface=name, mac=parameters.mac, ips=parameters.addresses, state=state)

        return await self._run("attach_device", type_, record.allocation.device.name, effect, record, netns)

    async def detach_device(self, type_: str, record: Record, netns: Netns | None) -> JsonObject:
        """Detach; not attached is success."""

        def effect() -> JsonObject:
            self.attached.pop(_world(type_, record.allocation), None)
            return dict(record.prepared.state) if record.prepared else {}

        return await self._run("detach_device", type_, record.allocation.device.name, effect, record, netns)

    async def free_device(self, type_: str, record: Record) -> None:
        """Free; absent is success."""

        def effect() -> None:
            self.set_up.discard(_world(type_, record.allocation))

        await self._run("free_device", type_, record.allocation.device.name, effect, record)

    async def recover_devices(
        self, type_: str, records: Sequence[Record], *, complete: bool = False
    ) -> Sequence[Recovered]:
        """Find what is in the world intact, and restore what is not."""

        def outcome(record: Record) -> Recovered:
            world = _world(type_, record.allocation)
            if world in self.set_up:
                return Recovered(outcome=Recovery.INTACT)
            self.set_up.add(world)
            return Recovered(outcome=Recovery.RESTORED, prepared=record.prepared)

        names = ",".join(record.allocation.device.name for record in records)
        return await self._run("recover_devices", type_, names, lambda: [outcome(r) for r in records], records)

    async def device_metadata(self, type_: str, record: Record) -> Metadata:
        """Tell nothing more."""
        return await self._run("device_metadata", type_, record.allocation.device.name, Metadata, record)

    async def container_edits(self, type_: str, record: Record) -> ContainerEdits:
        """Edit nothing."""
        return await self._run("container_edits", type_, record.allocation.device.name, ContainerEdits, record)

    async def write_metadata(
        self, claim: MetadataClaim, devices: Sequence[MetadataDevice]
    ) -> Sequence[WrittenMetadata]:
        """Remember what was to be written and answer ``writers``."""

        def effect() -> Sequence[WrittenMetadata]:
            self.written[claim.uid] = tuple(devices)
            return self.writers

        return await self._run("write_metadata", "", claim.uid, effect)

    async def remove_metadata(self, claim_uid: str) -> None:
        """Forget it; absent is success."""

        def effect() -> None:
            self.written.pop(claim_uid, None)

        await self._run("remove_metadata", "", claim_uid, effect)

    # --- mechanism ---------------------------------------------------------------------------------------------

    def _fake(self, type_: str) -> FakeManager:
        if type_ not in self.fakes:
            raise PluginMissing(f"device manager {type_} is not loaded: install or enable its distribution")
        return self.fakes[type_]

    async def _run(self, hook: str, type_: str, subject: str, effect: Callable[[], _T], *arguments: object) -> _T:
        answer = self._fake(type_).answers.get(hook) if type_ else None
        self.calls.append(Call(hook, type_, subject))
        for key in ((hook, None), (hook, type_)):
            if key in self._gates:
                await self._gates[key].wait()
        self._raise(hook, subject, after=False)
        result = effect()
        self._raise(hook, subject, after=True)
        # A scripted answer is of the hook's type by the test's own promise.
        return cast("_T", answer(*arguments)) if answer else result

    def _raise(self, hook: str, subject: str, *, after: bool) -> None:
        for failure in self._failures:
            fits = failure.hook == hook and failure.after == after and failure.device in {None, subject}
            if fits and failure.times > 0:
                failure.times -= 1
                raise failure.error


def _world(type_: str, allocation: Allocation) -> World:
    return type_, allocation.device.name, allocation.share_id or ""
