"""A manager that does what a test tells it while it runs; installed as a distribution of somebody else.

The file ``script.json`` beside its state says how each hook behaves: ``block`` (until the script says otherwise),
``raise``, ``exit``, ``garbage``. Each call is noted in ``calls.log`` when it begins. ``health`` maps devices to what is
reported: state, message, time-out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman_hookspecs import (
    Allocation,
    AttachDevice,
    Attached,
    DetachDevice,
    Device,
    DeviceError,
    DeviceManager,
    FreeDevice,
    Health,
    HealthReport,
    Inventory,
    JsonObject,
    Prepared,
    RecoverDevices,
    Recovered,
    SetupDevice,
    WatchHealth,
    hookimpl,
)
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import Netlink


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedSettings:
    """``count`` devices whose links are of kind ``linkKind``; ``folder`` holds script and notes."""

    folder: str
    count: int = 2
    link_kind: str = "dummy"


class Scripted(NetdevManager[ScriptedSettings]):
    """Each hook plays its part before it does its work."""

    def inventory(self) -> Inventory:
        names = [f"{self.type}{index}" for index in range(self.settings.count)]
        return Inventory(
            devices=tuple(
                Device(name=name, identity=f"tag:{self.type}/{name}", attributes={"ifName": name}) for name in names
            )
        )

    def make_link(self, netlink: Netlink, name: str, allocation: Allocation) -> None:
        netlink.add_link(name, self.settings.link_kind)

    @hookimpl
    def start(self) -> None:
        self._play("start")

    @hookimpl
    def stop(self) -> None:
        self._play("stop")

    @hookimpl
    def discover_devices(self) -> Inventory:
        return self._play("discover_devices") or super().discover_devices()

    @hookimpl
    def setup_device(self, request: SetupDevice) -> Prepared:
        return self._play("setup_device") or super().setup_device(request)

    @hookimpl
    def attach_device(self, request: AttachDevice) -> Attached:
        return self._play("attach_device") or super().attach_device(request)

    @hookimpl
    def detach_device(self, request: DetachDevice) -> JsonObject:
        return self._play("detach_device") or super().detach_device(request)

    @hookimpl
    def free_device(self, request: FreeDevice) -> None:
        self._play("free_device")
        super().free_device(request)

    @hookimpl
    def recover_devices(self, request: RecoverDevices) -> Sequence[Recovered]:
        return self._play("recover_devices") or super().recover_devices(request)

    @hookimpl
    def watch_health(self, request: WatchHealth) -> None:
        while not request.stopped.wait(0.05):
            health = self._script().get("health")
            if health == "raise":
                raise RuntimeError("the sensors are gone")
            if health:
                request.report([_report(name, *told) for name, told in health.items()])

    def _script(self) -> JsonObject:
        read: JsonObject = json.loads(Path(self.settings.folder, "script.json").read_text())
        return read

    def _play(self, hook: str) -> Any:
        with Path(self.settings.folder, "calls.log").open("a") as calls:
            calls.write(f"{hook}\n")
        while (part := self._script().get(hook)) == "block":
            time.sleep(0.02)
        match part:
            case "raise":
                raise RuntimeError(f"{hook} is broken")
            case "refuse":
                raise DeviceError(f"{hook} is refused")
            case "exit":
                sys.exit(3)
            case "garbage":
                return {1, 2}
        return None


def _report(device: str, state: str, message: str = "", timeout: float = 5.0) -> HealthReport:
    return HealthReport(device=device, health=Health(state), message=message, timeout=timeout)


def manager(type_: str) -> DeviceManager:
    """Give the descriptor of a manager of this type; its settings key is the same. ``plain`` watches no health."""
    changes = {"watch_health": None} if type_ == "plain" else {}
    class_ = type(f"Scripted{type_.title()}", (Scripted,), {"type": type_, **changes})
    return DeviceManager(type=type_, settings_key=type_, settings=ScriptedSettings, create=class_)
