"""The first process of a node: makes its namespaces and its mounts, and ends everything with itself.

A program of its own, which imports nothing else of this package: ``python init.py DISK HOSTNAME [--lease]``. It prints
its process id as this machine sees it, then ``ready``. With ``--lease`` it ends when its standard input does, that is
with the process that started it, however that ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

_MOUNT, _CGROUP, _UTS, _IPC, _PID, _NET = 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)

COVERED = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
"""Sysctls of the whole machine that the kubelet sets, which must not be changed: with the values that it wants."""


def main() -> None:
    """Become the first process of new namespaces, furnish them, and wait."""
    disk, hostname = Path(sys.argv[1]), sys.argv[2]
    _check(_libc.unshare(_MOUNT | _CGROUP | _UTS | _IPC | _PID | _NET), "new namespaces")
    if child := os.fork():
        print(child, flush=True)  # noqa: T201  # the answer to who started this
        os.waitpid(child, 0)
        return
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _mounts()
    _cgroups(Path("/sys/fs/cgroup"))
    _folders(disk)
    _covers(disk)
    socket.sethostname(hostname)
    print("ready", flush=True)  # noqa: T201  # as above
    # Children that nobody else waits for, the runtime's shims, end here without a trace.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if "--lease" in sys.argv:
        sys.stdin.read()
    else:
        while True:
            signal.pause()


def _mounts() -> None:
    # A peer group of its own: mounts propagate into containers, and none of them leaves the node.
    _mount("--make-rprivate", "/")
    _mount("--make-rshared", "/")
    _mount("-t", "proc", "proc", "/proc")
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    for name in ("netns", "cdi", "nri", "lock"):
        Path("/run", name).mkdir()


def _cgroups(base: Path) -> None:
    """Mount the cgroup tree as seen from this process, whose cgroup is the node's root."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    trees = [(line[1], line[2], line[3]) for line in mounts if line[2] in {"cgroup", "cgroup2"}]
    # What /sys shows of links is fixed when it is mounted.
    _mount("-t", "sysfs", "sysfs", "/sys")
    if all(kind == "cgroup2" for _, kind, _ in trees):
        _mount("-t", "cgroup2", "cgroup2", str(base))
        return
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(base))
    for place, kind, options in trees:
        Path(place).mkdir(parents=True, exist_ok=True)
        wanted = [name for name in options.split(",") if name not in {"rw", "relatime", "nosuid", "nodev", "noexec"}]
        extra = ["-o", ",".join(wanted)] if kind == "cgroup" else []
        _mount("-t", kind, *extra, kind, place)


def _folders(disk: Path) -> None:
    """Put the node's own disk where programs keep their state and logs."""
    for name in ("lib", "log"):
        (disk / name).mkdir(exist_ok=True)
        _mount("--bind", str(disk / name), f"/var/{name}")


def _covers(disk: Path) -> None:
    """Lay plain files over sysctls: what is written there stays in the node, and each boot has an id."""
    for name, content in {**COVERED, "kernel/random/boot_id": (disk / "boot_id").read_text()}.items():
        cover = Path("/run/covers", name.replace("/", "."))
        cover.parent.mkdir(exist_ok=True)
        cover.write_text(content)
        _mount("--bind", str(cover), f"/proc/sys/{name}")


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _check(result: int, what: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), what)


if __name__ == "__main__":
    main()
