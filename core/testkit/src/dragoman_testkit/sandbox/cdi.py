"""CDI as a runtime reads it: strict, with folders of rising priority, and unforgiving about doubles.

Written from the CDI specification 1.1 and what its Go library does, and on purpose not with the agent's own writer:
what the agent writes is judged here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dragoman_testkit.sandbox.cdi_schema import SPEC, InvalidSpec, check, least_version, read_version

LATEST = "1.1.0"
_KIND = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DEVICE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")


class Unresolvable(Exception):
    """Devices that no spec gives, or that two specs give."""


@dataclass(frozen=True, slots=True)
class CdiMount:
    """A bind mount."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = ()


@dataclass(slots=True)
class Edits:
    """What the devices of a container change in it."""

    env: dict[str, str] = field(default_factory=dict)
    mounts: dict[str, CdiMount] = field(default_factory=dict)
    device_nodes: dict[str, str] = field(default_factory=dict)

    def add(self, edits: Mapping[str, Any]) -> None:
        """Add ``containerEdits``; what stands at the same place is replaced."""
        self.env |= dict(item.split("=", 1) for item in edits.get("env", ()))
        for mount in edits.get("mounts", ()):
            path = mount["containerPath"]
            self.mounts[path] = CdiMount(mount["hostPath"], path, tuple(mount.get("options", ())))
        self.device_nodes |= {node["path"]: node.get("hostPath", node["path"]) for node in edits.get("deviceNodes", ())}

    def sorted_mounts(self) -> list[CdiMount]:
        """Give the mounts, outer paths first."""
        return sorted(self.mounts.values(), key=lambda mount: mount.container_path.count("/"))


@dataclass(frozen=True, slots=True)
class _Spec:
    priority: int
    edits: Mapping[str, Any]
    devices: Mapping[str, Mapping[str, Any]]


def parse(text: bytes, priority: int = 0, latest: str = LATEST) -> _Spec:
    """Read a spec for a runtime whose library knows versions up to ``latest``. Raises ``InvalidSpec``."""
    try:
        document: Any = next(yaml.safe_load_all(text), None)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidSpec(f"cannot be read: {error}") from error
    check(document, SPEC, "")
    version, least = read_version(document["cdiVersion"]), least_version(document)
    if version > read_version(latest):
        raise InvalidSpec(f"cdiVersion {document['cdiVersion']} is not known")
    if version < least:
        raise InvalidSpec(f"cdiVersion {document['cdiVersion']} is less than its content needs")
    kind = document["kind"]
    if not _KIND.fullmatch(kind):
        raise InvalidSpec(f"kind {kind!r} is not allowed")
    names = [device["name"] for device in document["devices"]]
    if bad := [name for name in names if not _DEVICE.fullmatch(name)]:
        raise InvalidSpec(f"device names {bad} are not allowed")
    if len(set(names)) < len(names) or not names:
        raise InvalidSpec("has no devices, or one of them twice")
    devices = {f"{kind}={device['name']}": device["containerEdits"] for device in document["devices"]}
    return _Spec(priority, document.get("containerEdits", {}), devices)


class CdiRegistry:
    """The specs in the folders, later ones of higher priority; read anew for each container, as containerd does."""

    def __init__(self, folders: Sequence[Path], latest: str = LATEST) -> None:
        self.errors: dict[str, str] = {}
        self._folders = tuple(folders)
        self._latest = latest

    def resolve(self, devices: Sequence[str]) -> Edits:
        """Give the edits of the devices, with those of a spec file added once. Raises ``Unresolvable``.

        ``errors`` then tells by path why a file was skipped.
        """
        known = self._load()
        if missing := [device for device in devices if device not in known]:
            raise Unresolvable(f"unresolvable CDI devices {', '.join(missing)}")
        edits, seen = Edits(), set()
        for device in devices:
            spec = known[device]
            if id(spec) not in seen:
                seen.add(id(spec))
                edits.add(spec.edits)
            edits.add(spec.devices[device])
        return edits

    def _load(self) -> dict[str, _Spec]:
        known: dict[str, _Spec] = {}
        doubles: set[str] = set()
        for spec in self._specs():
            for device in spec.devices:
                if device in known and known[device].priority == spec.priority:
                    doubles.add(device)
                known[device] = spec
        return {device: spec for device, spec in known.items() if device not in doubles}

    def _specs(self) -> Iterator[_Spec]:
        self.errors = {}
        for priority, folder in enumerate(self._folders):
            for path in sorted(folder.glob("*")) if folder.is_dir() else ():
                if path.suffix in {".json", ".yaml"} and path.is_file():
                    try:
                        yield parse(path.read_bytes(), priority, self._latest)
                    except InvalidSpec as error:
                        self.errors[str(path)] = str(error)
