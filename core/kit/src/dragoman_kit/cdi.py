"""CDI specs: building them with the least version that their content needs.

Rules from the CDI specification: a runtime refuses a spec that declares less than its content needs, and one that
declares more than the runtime knows, so the least sufficient version is always declared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman_hookspecs import ContainerEdits, DragomanError

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_CLASS = re.compile(r"[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?")
_VENDOR = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


class InvalidCdiName(DragomanError):
    """A vendor, class or device name that CDI does not allow."""


def qualified(vendor: str, class_: str, device: str) -> str:
    """Give ``vendor/class=device``. Raises ``InvalidCdiName``."""
    for pattern, text, what in ((_VENDOR, vendor, "vendor"), (_CLASS, class_, "class"), (_NAME, device, "device name")):
        if not pattern.fullmatch(text):
            raise InvalidCdiName(f"{text!r} cannot be a CDI {what}")
    return f"{vendor}/{class_}={device}"


def edits_json(edits: ContainerEdits) -> dict[str, Any]:
    """Give the ``containerEdits`` of a device."""
    out: dict[str, Any] = {}
    if edits.env:
        out["env"] = [f"{name}={value}" for name, value in sorted(edits.env.items())]
    if edits.device_nodes:
        out["deviceNodes"] = [
            {"path": node.path}
            | ({"hostPath": node.host_path} if node.host_path else {})
            | ({"permissions": node.permissions} if node.permissions else {})
            for node in edits.device_nodes
        ]
    if edits.mounts:
        out["mounts"] = [
            {"hostPath": mount.host_path, "containerPath": mount.container_path, "options": list(mount.options)}
            for mount in edits.mounts
        ]
    return out


def minimum_version(devices: Sequence[Mapping[str, Any]]) -> str:
    """Give the least version for devices that use env, device nodes and mounts only."""
    leading_digit = any(device["name"][0].isdigit() for device in devices)
    host_path = any("hostPath" in node for d in devices for node in d["containerEdits"].get("deviceNodes", ()))
    return "0.5.0" if leading_digit or host_path else "0.3.0"


def spec(vendor: str, class_: str, devices: Mapping[str, ContainerEdits]) -> bytes:
    """Give the bytes of a spec file: device names to edits, in the order of the names.

    Raises ``InvalidCdiName`` for a name that CDI does not allow, and for a device without any edit, which a runtime
    would refuse together with the whole file.
    """
    entries = []
    for name, edits in sorted(devices.items()):
        qualified(vendor, class_, name)
        body = edits_json(edits)
        if not body:
            raise InvalidCdiName(f"CDI device {name!r} has no edits; a runtime refuses such a spec")
        entries.append({"name": name, "containerEdits": body})
    document = {"cdiVersion": minimum_version(entries), "kind": f"{vendor}/{class_}", "devices": entries}
    return json.dumps(document, indent=2).encode() + b"\n"
