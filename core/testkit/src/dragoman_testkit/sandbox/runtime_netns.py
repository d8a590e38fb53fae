"""Network namespaces of pods, as a runtime and its CNI plugin make them: a handle in a folder, ``lo`` and ``eth0``."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from dragoman_testkit.sandbox.runtime_rtnetlink import Rtnetlink

_CLONE_NEWNET = 0x40000000
_MS_BIND = 0x1000
_MNT_DETACH = 0x2
_OWN = "/proc/thread-self/ns/net"

_libc = ctypes.CDLL(None, use_errno=True)


def unshare_network() -> None:
    """Give the calling thread a network namespace of its own. Raises ``OSError``."""
    _check(_libc.unshare(_CLONE_NEWNET), "unshare")


def enter_network(descriptor: int) -> None:
    """Move the calling thread into the namespace of that descriptor. Raises ``OSError``."""
    _check(_libc.setns(descriptor, _CLONE_NEWNET), "setns")


class PodNetwork:
    """One pod's namespace, at ``path``. ``host_link`` is the end of its veth pair that stays here.

    ``create`` and ``remove`` may come from any thread and in any order: what was removed is not made again.
    """

    def __init__(self, path: Path, host_link: str, address: str) -> None:
        self.path = path
        self._host_link = host_link
        self._address = address
        self._lock = threading.Lock()
        self._over = False
        self._linked = False

    @property
    def exists(self) -> bool:
        """Tell whether the handle is there."""
        return self.path.exists()

    async def create(self) -> None:
        """Make the namespace with ``lo`` and ``eth0`` up. Raises ``OSError``, and leaves nothing then."""
        try:
            await asyncio.to_thread(_in_thread, self._create)
        except BaseException:
            await self.remove()
            raise

    async def remove(self) -> None:
        """Take the veth pair and the handle away, as CNI DEL and the runtime do."""
        await asyncio.to_thread(self._remove)

    def _create(self) -> None:
        with self._lock, Rtnetlink() as host:
            if self._over:
                return
            descriptor = os.open(_OWN, os.O_RDONLY)
            try:
                unshare_network()
                self.path.touch(exist_ok=False)
                _check(_libc.mount(_OWN.encode(), bytes(self.path), None, _MS_BIND, None), f"mount {self.path}")
                self._furnish(descriptor)
            finally:
                os.close(descriptor)
            host.set_up(self._host_link)

    def _furnish(self, host: int) -> None:
        with Rtnetlink() as pod:
            pod.set_up("lo")
            pod.add_veth("eth0", self._host_link, host)
            self._linked = True
            pod.set_up("eth0")
            pod.add_address(socket.if_nametoindex("eth0"), self._address)

    def _remove(self) -> None:
        with self._lock:
            self._over = True
            if self._linked:
                self._linked = False
                with contextlib.suppress(OSError), Rtnetlink() as host:
                    host.delete(self._host_link)
            # Detached at once even where somebody still looks at it; EINVAL where it was never mounted.
            _libc.umount2(bytes(self.path), _MNT_DETACH)
            self.path.unlink(missing_ok=True)


def _in_thread(work: Callable[[], None]) -> None:
    """Do the work in a thread that ends with it: one that has left its namespace must not serve anybody else."""
    failures: list[BaseException] = []

    def target() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # handed over to the caller below
            failures.append(error)

    thread = threading.Thread(target=target, name="pod-netns")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
