"""How much a runtime takes in one frame of NRI's multiplexer.

Go's ttrpc reads through a buffer of 4096 bytes, which it has filled by one frame at a time; only the data of a message
of which at least that much is missing goes past it. A frame that finds less room breaks the connection.
"""

from __future__ import annotations

import asyncio

from dragoman.nri.mux import SAFE_PAYLOAD, Chunk, MuxError

_HEADER = 10
"""Bytes of a ttrpc header, of which the first four are the length of the data."""


class _Buffer:
    """What the runtime has read of one connection."""

    def __init__(self) -> None:
        self._header = b""
        self._data = 0

    def take(self, frame: bytes) -> None:
        """Take a frame. Raises ``MuxError`` where it finds no room."""
        room = max(self._data, SAFE_PAYLOAD)
        if len(frame) > room:
            raise MuxError(
                f"an NRI frame has {len(frame)} bytes where there is room for {room}: cannot allocate memory"
            )
        while frame:
            passed = frame[: self._data] if self._data else frame[: _HEADER - len(self._header)]
            frame = frame[len(passed) :]
            self._pass(passed)

    def _pass(self, part: bytes) -> None:
        if self._data:
            self._data -= len(part)
            return
        self._header += part
        if len(self._header) == _HEADER:
            self._data = int.from_bytes(self._header[:4], "big")
            self._header = b""


class RoomyReader:
    """Reads of a plugin what a runtime would have read: a stream that breaks where that would."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._bytes = b""
        self._buffers: dict[int, _Buffer] = {}

    async def read(self, size: int) -> bytes:
        """Read, as of a stream. Raises ``MuxError``."""
        data = await self._reader.read(size)
        self._bytes += data
        while (frame := self._frame()) is not None:
            self._buffers.setdefault(frame.connection, _Buffer()).take(frame.data)
        return data

    def _frame(self) -> Chunk | None:
        """Give the next frame, once it is there as a whole."""
        connection, length = int.from_bytes(self._bytes[:4], "big"), int.from_bytes(self._bytes[4:8], "big")
        end = 8 + length
        if len(self._bytes) < max(end, 8):
            return None
        frame, self._bytes = self._bytes[8:end], self._bytes[end:]
        return Chunk(connection, frame)
