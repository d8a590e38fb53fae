"""Sysctls of one interface (``net.ipv4.conf.<interface>.`` and ``net.ipv6.conf.<interface>.``).

``/proc/sys/net`` shows the namespace of the thread that opens the file, so these are written from a thread that has
entered the pod's namespace, through whatever ``/proc`` the host settings name.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from stat import S_IWUSR

from dragoman_hookspecs import DeviceError, rules

_VALUE_BYTES = 4096


def write(proc: Path, family: str, interface: str, leaves: Mapping[str, str]) -> None:
    """Write sysctls of an interface in the calling thread's namespace.

    ``family`` is ``ipv4`` or ``ipv6``. Raises ``DeviceError`` for a name that is not one plain path component, for a
    sysctl that this kernel does not have, and for a value that it refuses.
    """
    for leaf, value in leaves.items():
        if fault := rules.interface_name(interface) or rules.sysctl_leaf(leaf) or rules.sysctl_value(value):
            raise DeviceError(f"sysctl of {interface} is not written: {fault}")
        _write(
            proc / "sys" / "net" / family / "conf" / interface / leaf, f"net.{family}.conf.{interface}.{leaf}", value
        )


def differing(proc: Path, interface: str) -> dict[str, dict[str, str]]:
    """Read the sysctls of an interface that are not the namespace's default, by family.

    A link that leaves a namespace and comes back has the defaults again. What cannot be read or may not be written is
    left out (``mc_forwarding`` is the kernel's own), and the IPv6 MTU, which goes with the link's.
    """
    return {family: _differing(proc / "sys" / "net" / family / "conf", interface) for family in ("ipv4", "ipv6")}


def _differing(folder: Path, interface: str) -> dict[str, str]:
    own, default = (_read(folder / name) for name in (interface, "default"))
    differing = {leaf: value for leaf, value in own.items() if value and value != default.get(leaf) and leaf != "mtu"}
    return {leaf: value for leaf, value in differing.items() if (folder / interface / leaf).stat().st_mode & S_IWUSR}


def _read(folder: Path) -> dict[str, str]:
    """Read a folder of some sixty files; without ``pathlib``, which would take three times as long."""
    values: dict[str, str] = {}
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return values
    try:
        for leaf in os.listdir(handle):  # noqa: PTH208 - pathlib takes no descriptor
            with contextlib.suppress(OSError):
                values[leaf] = _read_leaf(leaf, handle)
    finally:
        os.close(handle)
    return values


def _read_leaf(leaf: str, folder: int) -> str:
    handle = os.open(leaf, os.O_RDONLY, dir_fd=folder)
    try:
        return os.read(handle, _VALUE_BYTES).decode(errors="replace").strip()
    finally:
        os.close(handle)


def _write(path: Path, name: str, value: str) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW)
        try:
            os.write(handle, value.encode())
        finally:
            os.close(handle)
    except FileNotFoundError as error:
        raise DeviceError(f"sysctl {name} does not exist on this kernel; take it out of the parameters") from error
    except OSError as error:
        raise DeviceError(f"sysctl {name} cannot be set to {value!r}: {error.strerror}") from error
