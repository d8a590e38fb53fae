"""A gRPC server on a unix socket whose file is under our own control.

gRPC would bind with the mode of the umask and remove whatever stands at its path when it ends. So it binds a hidden
name, and the file gets its mode before it is renamed into place: watchers see it appear once and complete, a stale
file of a dead process is replaced, and at the end only our own inode is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import grpc
from loguru import logger

from dragoman.clock import Clock
from dragoman.kubelet.rpc import Handler
from dragoman.kubelet.sockets import SocketFailed, make_folder, temporary_socket

POLL_SECONDS: Final = 1.0
KEPT_SERVERS: Final = 4

Inode = tuple[int, int]


class Listener:
    """Serves ``services`` at ``path``.

    When it is opened again because its file was lost, the connections that the earlier servers still have go on.
    ``own_folder``: the folder is the driver's alone.
    """

    def __init__(self, path: Path, services: Sequence[Handler], *, own_folder: bool) -> None:
        self.path = path
        self._services = services
        self._own_folder = own_folder
        self._servers: list[grpc.aio.Server] = []
        self._ending: set[asyncio.Future[None]] = set()
        self._inode: Inode | None = None
        self._binds = 0

    async def open(self) -> None:
        """Bind and serve, in place of whatever file is there. Raises ``SocketFailed``."""
        make_folder(self.path.parent, own=self._own_folder)
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers(self._services)
        hidden = self._bind(server)
        self._servers.append(server)
        # Started first: gRPC gives the socket of a server that never was back to nobody.
        await server.start()
        try:
            self._put_in_place(hidden)
        except SocketFailed:
            await self._end(server, grace=0)
            raise
        logger.info("listening on {}", self.path)
        for old in self._servers[:-KEPT_SERVERS]:
            await self._end(old, grace=0)

    def lost(self) -> bool:
        """Tell whether the file is not, or no more, the one that was bound."""
        return self._inode is None or _inode(self.path) != self._inode

    async def close(self, grace: float) -> None:
        """Remove the file if it is ours, give running calls ``grace`` seconds, and stop serving."""
        if not self.lost():
            self.path.unlink(missing_ok=True)
        self._inode = None
        for server in list(self._servers):
            await self._end(server, grace)
        if self._ending:
            await asyncio.wait(self._ending)  # begun by a call that was cancelled

    async def keep(self, clock: Clock) -> None:
        """Open again whenever the file was lost. Runs until it is cancelled."""
        while True:
            await clock.sleep(POLL_SECONDS)
            if self.lost():
                await self._reopen()

    async def _reopen(self) -> None:
        logger.warning("the socket file {} was lost and is made again", self.path)
        try:
            await self.open()
        except SocketFailed as error:
            logger.error("{}", error)

    def _bind(self, server: grpc.aio.Server) -> Path:
        for number in range(10) if not self._binds else ():
            temporary_socket(self.path, number).unlink(missing_ok=True)
        self._binds += 1
        hidden = temporary_socket(self.path, self._binds)
        try:
            server.add_insecure_port(f"unix:{hidden}")
        except RuntimeError as error:
            raise SocketFailed(
                f"cannot bind a socket in {hidden.parent}; check that the agent may write there"
            ) from error
        return hidden

    def _put_in_place(self, hidden: Path) -> None:
        try:
            hidden.chmod(0o600)
            self._inode = _inode(hidden)
            hidden.replace(self.path)
        except OSError as error:
            self._inode = None
            raise SocketFailed(f"cannot put the socket {self.path} in place: {error.strerror}; remove it") from error

    async def _end(self, server: grpc.aio.Server, grace: float) -> None:
        self._servers.remove(server)
        # In a task of its own: gRPC waits in a way that swallows a cancellation of the moment at which it is done.
        stopping = asyncio.ensure_future(server.stop(grace))
        self._ending.add(stopping)
        stopping.add_done_callback(self._ending.discard)
        await asyncio.wait({stopping})
        stopping.result()


def _inode(path: Path) -> Inode | None:
    with contextlib.suppress(OSError):
        status = path.lstat()
        return status.st_dev, status.st_ino
    return None
