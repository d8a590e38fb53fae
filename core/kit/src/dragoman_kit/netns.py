"""Network namespaces: naming them, entering them in the calling thread, making and removing them.

Nothing here forks. A namespace belongs to a thread (setns(2)); every entering ends with the thread in the namespace
that it came from.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from dragoman_hookspecs import Netns

_CLONE_NEWNET = 0x40000000
_NS_GET_NSTYPE = 0xB703
_MS_BIND, _MNT_DETACH = 0x1000, 0x2
_OWN = "/proc/thread-self/ns/net"

_libc = ctypes.CDLL(None, use_errno=True)


def own() -> Netns:
    """Name the namespace of the calling thread. The path is good in this thread only."""
    return identify(_OWN)


def identify(path: str) -> Netns:
    """Name the namespace behind a path, with its cookie.

    Raises ``FileNotFoundError`` when there is none, also when the path is a file that no longer is a namespace.
    """
    with opened(path) as handle:
        return Netns(path=path, cookie=cookie(handle))


def same(netns: Netns) -> bool:
    """Tell whether the path still names the namespace with that cookie."""
    try:
        return identify(netns.path).cookie == netns.cookie
    except FileNotFoundError:
        return False


def cookie(handle: int) -> str:
    """Give the identity of an open namespace: ``"<device>:<inode>"``."""
    status = os.fstat(handle)
    return f"{status.st_dev}:{status.st_ino}"


@contextlib.contextmanager
def opened(netns: Netns | str) -> Iterator[int]:
    """Give a descriptor of the namespace.

    Raises ``FileNotFoundError`` when the path names no namespace, or another one than ``netns`` tells.
    """
    path = netns if isinstance(netns, str) else netns.path
    try:
        # Not blocking: a path that somebody made a FIFO must not hang the caller.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (NotADirectoryError, IsADirectoryError, ValueError) as error:
        raise _gone(path) from error
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENXIO, errno.ELOOP, errno.ENAMETOOLONG, errno.ESRCH):
            raise _gone(path) from error
        raise
    try:
        if not _is_network_namespace(handle) or (isinstance(netns, Netns) and cookie(handle) != netns.cookie):
            raise _gone(path)
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def entered(handle: int) -> Iterator[None]:
    """Run the body in the namespace of that descriptor, in the calling thread."""
    home = os.open(_OWN, os.O_RDONLY)
    try:
        _setns(handle)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(home)


def fresh() -> int:
    """Make a namespace that lives as long as the descriptor that this gives (or whoever else holds it)."""
    made: list[int] = []
    failed: list[OSError] = []

    def make() -> None:
        try:
            _check(_libc.unshare(_CLONE_NEWNET), "a new network namespace")
            made.append(os.open(_OWN, os.O_RDONLY))
        except OSError as error:
            failed.append(error)

    # A thread of its own takes the new namespace with it when it ends, so the caller never leaves its own.
    thread = threading.Thread(target=make, name="netns")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


def create(path: str) -> Netns:
    """Make a namespace with a handle at ``path``, as container runtimes do. Raises ``FileExistsError``."""
    handle = fresh()
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDONLY, 0o444))
        source = f"/proc/{os.getpid()}/fd/{handle}"
        try:
            _check(_libc.mount(source.encode(), path.encode(), None, _MS_BIND, None), path)
        except OSError:
            Path(path).unlink()
            raise
    finally:
        os.close(handle)
    return identify(path)


def remove(path: str) -> None:
    """Remove a handle that ``create`` made; absent is success. The namespace ends when nothing else holds it."""
    if _libc.umount2(path.encode(), _MNT_DETACH) and ctypes.get_errno() not in (errno.EINVAL, errno.ENOENT):
        _check(-1, path)
    Path(path).unlink(missing_ok=True)


def _is_network_namespace(handle: int) -> bool:
    try:
        return fcntl.ioctl(handle, _NS_GET_NSTYPE) == _CLONE_NEWNET
    except OSError:
        return False


def _setns(handle: int) -> None:
    _check(_libc.setns(handle, _CLONE_NEWNET), "the network namespace")


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _gone(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "no such network namespace", path)
