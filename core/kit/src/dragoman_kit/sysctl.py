"""Sysctls of one interface (``net.ipv4.conf.<interface>.`` and ``net.ipv6.conf.<interface>.``).

``/proc/sys/net`` shows the namespace of the thread that opens the file, so these are written from a thread that has
entered the pod's namespace, through whatever ``/proc`` the host settings name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dragoman_hookspecs import DeviceError, rules


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
