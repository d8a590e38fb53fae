"""The file of the control socket: short enough, private, replaced in one step, removed only by its owner."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from dragoman_hookspecs import DragomanError

LONGEST = 107
"""Bytes of a socket's path at most: ``sun_path`` has 108 with the zero at its end (unix(7))."""


class SocketFault(DragomanError):
    """The control socket cannot be made."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A listening socket and the file by which it is found."""

    socket: socket.socket
    path: Path
    inode: int

    def unlink(self) -> None:
        """Remove the file, unless another agent has put its own there meanwhile."""
        try:
            if self.path.stat().st_ino == self.inode:
                self.path.unlink()
        except FileNotFoundError:
            pass


def listen(path: Path) -> Listening:
    """Listen at a path, in place of whatever socket is found there now, dead or alive.

    There is no moment without a socket at that path. Only the holder of the node's lock does this, so no other agent
    is at the name in between. Raises ``SocketFault``.
    """
    new = path.with_name(path.name + ".new")
    if len(os.fsencode(new)) > LONGEST:
        raise SocketFault(f"path {new} of the control socket is longer than {LONGEST} bytes: set a shorter run folder")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        listener.bind(os.fspath(new))
        # Nobody can connect before it listens, and then the mode stands.
        new.chmod(0o600)
        listener.listen()
        listener.setblocking(False)
        inode = new.stat().st_ino
        new.rename(path)
    except OSError as error:
        listener.close()
        raise SocketFault(f"control socket {path} cannot be made: {error}") from error
    return Listening(listener, path, inode)
