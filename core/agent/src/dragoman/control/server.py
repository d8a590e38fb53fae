"""The server of the control socket."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from loguru import logger

from dragoman.control import messages, sockets
from dragoman.conversations import Conversations, stop_listening
from dragoman_hookspecs import DragomanError, JsonObject


class Peer:
    """The other end of a connection: who it is, and whether it is still there."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._lost = asyncio.Event()
        self.pid = _pid(writer)

    @property
    def lost(self) -> bool:
        """Whether the connection has ended, known at once also while a handler runs for it."""
        return self._lost.is_set() or self._reader.at_eof() or self._writer.is_closing()

    async def wait_lost(self) -> None:
        """Wait until the connection has ended; handlers must have returned for that to be seen."""
        await self._lost.wait()

    def end(self) -> None:
        """Wake those who wait for the end."""
        self._lost.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a handler gets."""

    params: JsonObject
    peer: Peer


Handler = Callable[[Call], Awaitable[object]]
"""Answers one method; what it returns must be JSON or dataclasses of it. It runs to its end even if the peer leaves."""


class ControlServer:
    """Serves methods by name. Each connection is served by a task of its own, one request after the other."""

    def __init__(self, path: Path, handlers: Mapping[str, Handler]) -> None:
        self._path = path
        self._handlers = dict(handlers)
        self._listening: sockets.Listening | None = None
        self._server: asyncio.Server | None = None
        self._conversations = Conversations(self._serve)

    async def publish(self) -> None:
        """Listen, in place of whatever socket is found at the path; again, if another agent has replaced ours.

        Connections that exist go on. Raises ``SocketFault``.
        """
        listening = sockets.listen(self._path)
        server = await asyncio.start_unix_server(
            self._conversations.accept, sock=listening.socket, limit=messages.REQUEST_LIMIT, start_serving=True
        )
        former, self._listening, self._server = self._server, listening, server
        if former is not None:
            await stop_listening(former)

    async def close(self) -> None:
        """Stop listening, end all connections and remove the file if it is still ours."""
        if self._server is not None:
            await stop_listening(self._server)
            self._server = None
        if self._listening is not None:
            self._listening.unlink()
            self._listening = None
        await self._conversations.end()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        try:
            await self._converse(reader, writer, peer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The peer left, which ends the conversation at any point.
        finally:
            peer.end()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> None:
        while True:
            line = await _line(reader)
            if line is None:
                too_long = f"a request has at most {messages.REQUEST_LIMIT} bytes"
                writer.write(messages.failure(messages.BadRequest.__name__, too_long))
            else:
                writer.write(await self._answer(line, peer))
            await writer.drain()

    async def _answer(self, line: bytes, peer: Peer) -> bytes:
        try:
            request = messages.parse_request(line)
            handler = self._handlers.get(request.method)
            if handler is None:
                raise messages.UnknownMethod(
                    f"this agent has no control method {request.method!r}; it has {', '.join(sorted(self._handlers))}"
                )
            return messages.result(await handler(Call(params=request.params, peer=peer)))
        except DragomanError as error:
            return messages.failure(type(error).__name__, str(error))
        except Exception as error:  # noqa: BLE001 - a fault of one handler must not end the others' conversation
            logger.opt(exception=error).error("a control request failed by a fault of the program: {}", error)
            return messages.failure("Internal", f"a fault of the agent, see its log: {type(error).__name__}: {error}")


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """Read a line; None for one that is too long, which is skipped. Raises ``IncompleteReadError`` at the end."""
    fits = True
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            fits = False
            await reader.readexactly(error.consumed)
        else:
            return line if fits else None


def _pid(writer: asyncio.StreamWriter) -> int:
    """Ask the kernel which process connected; 0 where it is of another pid namespace."""
    peer: socket.socket = writer.get_extra_info("socket")
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid: int = struct.unpack("3i", credentials)[0]
    return pid
