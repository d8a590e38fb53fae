"""Namespaces of its own for the sandbox, so that no link of this machine is ever seen or touched.

The process starts itself again under ``unshare``: as root directly, else as root of a user namespace, where the system
allows that.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dragoman_hookspecs import DragomanError
from dragoman_testkit.sandbox.runtime_rtnetlink import Rtnetlink

_MARK = "SANDBOX_NAMESPACES"
"""Variable that tells the process started again that it is; not one of the agent's settings."""


class NoNamespaces(DragomanError):
    """This user may not make namespaces on this system."""


def enter() -> None:
    """Return in private network and mount namespaces, with ``lo`` up; else start this program again in them.

    Raises ``NoNamespaces`` where they cannot be had.
    """
    if os.environ.pop(_MARK, "") == str(os.getppid()):
        _furnish()
        return
    command = _command()
    os.environ[_MARK] = str(os.getppid())
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(command[0], [*command, sys.executable, *sys.orig_argv[1:]])  # noqa: S606  # this very program, no shell


def _command() -> list[str]:
    """Give the command that works here: root in a container may lack the capability, and still may be root of its own.

    Raises ``NoNamespaces``.
    """
    said = ""
    for flags in ([], ["--user", "--map-root-user"])[os.geteuid() != 0 :]:
        command = ["unshare", *flags, "--net", "--mount", "--propagation", "private", "--"]
        said = _try([*command, sys.executable, "-c", "pass"])
        if not said:
            return command
    raise NoNamespaces(
        f"the sandbox runs in network and mount namespaces of its own, and they cannot be made here ({said}): "
        "run it as root, or allow user namespaces to this user"
    )


def _try(command: Sequence[str]) -> str:
    """Say why a command does not work, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # fixed words
    except FileNotFoundError as error:
        raise NoNamespaces("the sandbox needs the programs unshare and nsenter; install util-linux") from error
    return (done.stderr.strip() or f"exit code {done.returncode}") if done.returncode else ""


def _furnish() -> None:
    with Rtnetlink() as host:
        host.set_up("lo")
    # What /sys shows of links is fixed when it is mounted. Nothing here needs it, so where it cannot be mounted
    # again it stays.
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None)
    _check_sysctls()


def _check_sysctls() -> None:
    path = Path("/proc/sys/net/ipv4/conf/lo/forwarding")
    try:
        path.write_text(path.read_text())
    except OSError as error:
        raise NoNamespaces(f"the sandbox sets sysctls of links, and cannot here: {path}: {error.strerror}") from error
