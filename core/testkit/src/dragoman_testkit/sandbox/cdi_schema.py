"""Which keys a CDI spec may have, of which types, and which version each asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")


class InvalidSpec(Exception):
    """A spec file that a runtime skips."""


class Map:
    """Marks an object with free keys and strings as values."""


_NODE = {
    "path": str,
    "hostPath": str,
    "type": str,
    "major": int,
    "minor": int,
    "fileMode": int,
    "permissions": str,
    "uid": int,
    "gid": int,
}
_HOOK = {"hookName": str, "path": str, "args": [str], "env": [str], "timeout": int}
_MOUNT = {"hostPath": str, "containerPath": str, "options": [str], "type": str}
_RDT = {"closID": str, "l3CacheSchema": str, "memBwSchema": str, "schemata": [str], "enableMonitoring": bool}
_EDITS = {
    "env": [str],
    "deviceNodes": [_NODE],
    "netDevices": [{"hostInterfaceName": str, "name": str}],
    "hooks": [_HOOK],
    "mounts": [_MOUNT],
    "intelRdt": _RDT,
    "additionalGids": [int],
}
_DEVICE = {"name": str, "annotations": Map, "containerEdits": _EDITS}
SPEC = {"cdiVersion": str, "kind": str, "annotations": Map, "devices": [_DEVICE], "containerEdits": _EDITS}

_REQUIRED = (
    (SPEC, ("cdiVersion", "kind", "devices")),
    (_DEVICE, ("name", "containerEdits")),
    (_MOUNT, ("hostPath", "containerPath")),
    (_NODE, ("path",)),
    (_HOOK, ("hookName", "path")),
)


def check(value: Any, schema: Any, path: str) -> None:
    """Check a value and what is in it. Raises ``InvalidSpec`` with the path of the first fault."""
    if isinstance(schema, list):
        _expect(isinstance(value, list), f"{path} must be a list")
        for index, item in enumerate(value):
            check(item, schema[0], f"{path}[{index}]")
    elif isinstance(schema, dict):
        _check_object(value, schema, path)
    elif schema is Map:
        fits = isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair)
        _expect(fits, f"{path} must map strings to strings")
    else:
        _expect(type(value) is schema, f"{path} must be of type {schema.__name__}")


def _check_object(value: Any, schema: dict[str, Any], path: str) -> None:
    _expect(isinstance(value, dict), f"{path or 'the document'} must be an object")
    for key, item in value.items():
        _expect(key in schema, f"{path}.{key} is not a known key")
        check(item, schema[key], f"{path}.{key}")
    for owner, keys in _REQUIRED:
        for key in keys if owner is schema else ():
            _expect(bool(value.get(key)), f"{path}.{key} is required and must not be empty")
    if schema is _EDITS:
        for index, item in enumerate(value.get("env", ())):
            _expect(item.find("=") > 0, f"{path}.env[{index}] must be NAME=VALUE")


def _expect(fits: bool, fault: str) -> None:
    if not fits:
        raise InvalidSpec(fault)


def read_version(text: str) -> tuple[int, ...]:
    """Give a version as numbers. Raises ``InvalidSpec`` unless it is a known one."""
    plain = text.removeprefix("v")
    _expect(plain in VERSIONS, f"cdiVersion {text!r} is not known")
    return tuple(map(int, plain.split(".")))


def least_version(spec: dict[str, Any]) -> tuple[int, ...]:
    """Give the least version that allows what the spec has."""
    return read_version(max(_needs(spec), key=read_version))


def _needs(spec: dict[str, Any]) -> Iterator[str]:
    yield "0.3.0"
    devices = spec["devices"]
    if "." in spec["kind"].partition("/")[2] or any("annotations" in item for item in (spec, *devices)):
        yield "0.6.0"
    if any(device["name"][0].isdigit() for device in devices):
        yield "0.5.0"
    for owner in (spec, *devices):
        yield from _edits_need(owner.get("containerEdits", {}))


def _edits_need(edits: dict[str, Any]) -> Iterator[str]:
    rdt = edits.get("intelRdt", {})
    if "netDevices" in edits or "schemata" in rdt or "enableMonitoring" in rdt:
        yield "1.1.0"
    if "intelRdt" in edits or "additionalGids" in edits:
        yield "0.7.0"
    if any("hostPath" in node for node in edits.get("deviceNodes", ())):
        yield "0.5.0"
    if any("type" in mount for mount in edits.get("mounts", ())):
        yield "0.4.0"
