"""Names and folders of the agent's sockets, as the kubelet finds them.

A name must leave the whole path below 108 bytes, the size of ``sun_path`` with its final NUL. The kubelet's own helper
names the registration socket by the first of three candidates that fits; other programs of the node look for these
names, so they are the same here. The base name of the DRA socket is free: the kubelet is told it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dragoman.model.errors import Unavailable
from dragoman_hookspecs import DragomanError

PATH_LIMIT: Final = 108


class SocketPathTooLong(DragomanError):
    """No name of the socket leaves its path below the kernel's limit."""


class SocketFailed(Unavailable):
    """A socket could not be made; the text names the path and what the kernel said."""


def registration_socket(registry: Path, driver: str, pod_uid: str = "") -> Path:
    """Give the path of the registration socket in the kubelet's ``plugins_registry``.

    With a pod UID two agents of a rolling update do not meet. Raises ``SocketPathTooLong``.
    """
    both = _digest("\0".join((driver, pod_uid)), 16)
    if not pod_uid:
        return _first_fit(registry, [f"{driver}-reg.sock", f"dra-{both}-reg.sock"])
    stems = [f"{driver}-{pod_uid}", f"{driver}-{_digest(pod_uid, 8)}", f"dra-{both}"]
    return _first_fit(registry, [f"{stem}-reg.sock" for stem in stems])


def dra_socket(plugins: Path, driver: str, pod_uid: str = "") -> Path:
    """Give the path of the DRA socket, in the driver's own folder of the kubelet's ``plugins``.

    The shortest name leaves room for a driver name of 63 bytes below the default root. Raises ``SocketPathTooLong``.
    """
    stems = [pod_uid, _digest(pod_uid, 8), _digest(pod_uid, 6)]
    return _first_fit(plugins / driver, [f"dra-{stem}.sock" for stem in stems] if pod_uid else ["dra.sock"])


def temporary_socket(path: Path, number: int) -> Path:
    """Give a hidden name beside ``path`` under which it is bound before it is renamed; ``number`` is one digit.

    The kubelet ignores hidden names. The name is the same in every life of the process, so that what a crash left
    is found.
    """
    return path.with_name(f".{_digest(path.name, 5)}{number % 10}")


def make_folder(folder: Path, *, own: bool) -> None:
    """Make the folder of a socket, closed to others; an own one that is there is closed too.

    Raises ``SocketFailed``.
    """
    try:
        folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        if own:
            folder.chmod(0o750)
    except OSError as error:
        raise SocketFailed(
            f"cannot make the socket folder {folder}: {error.strerror}; check the mount of it"
        ) from error


def _first_fit(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        if len(os.fsencode(folder / name)) < PATH_LIMIT:
            return folder / name
    raise SocketPathTooLong(
        f"socket path {folder / names[-1]} has {len(os.fsencode(folder / names[-1]))} bytes and the kernel takes "
        f"{PATH_LIMIT - 1}; give the kubelet root a shorter path"
    )


def _digest(text: str, size: int) -> str:
    digest = hashlib.sha256(text.encode()).digest()[:size]
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
