"""NRI's multiplexer without I/O: bytes in, events out; messages in, bytes out.

A frame is a connection id and a payload length, 4 bytes each, big-endian, then the payload. There is no handshake:
both ends assume the same ids. Within one id the payloads are a stream of bytes; a frame is not a message.
"""

from __future__ import annotations

import enum
import math
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dragoman_hookspecs import DragomanError

PLUGIN_ID = 1
"""Connection on which the runtime calls the plugin."""
RUNTIME_ID = 2
"""Connection on which the plugin calls the runtime."""

MAX_PAYLOAD = (4 << 20) + 10
"""What a header may claim: the largest ttrpc message. A runtime closes the trunk on more, and so do we."""
SAFE_PAYLOAD = 4096
"""What a frame may carry: runtimes read a whole frame into a buffer of this size, and drop the plugin if it is full."""
MAX_BURST = 255
"""Frames of one message: runtimes queue 256 per connection, and drop the plugin that sends more before they are read.

The last frame then takes the rest. That is legal because the reader has given the whole message's buffer by then.
"""

_HEADER = struct.Struct(">II")


class MuxError(DragomanError):
    """The other end broke the framing; nothing after it can be understood."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that arrived for one connection."""

    connection: int
    data: bytes


class State(enum.Enum):
    """What the reader expects next."""

    HEADER = "header"
    PAYLOAD = "payload"
    BROKEN = "broken"


TRANSITIONS: dict[State, frozenset[State]] = {
    State.HEADER: frozenset({State.PAYLOAD, State.BROKEN}),
    State.PAYLOAD: frozenset({State.HEADER}),
    State.BROKEN: frozenset(),
}


class MuxReader:
    """Turns the bytes of the trunk into chunks of the connections that are known; other ids are read and dropped.

    A payload is handed on as it arrives, so nothing but a header is ever kept.
    """

    def __init__(self, connections: Collection[int]) -> None:
        self.state = State.HEADER
        self._known = frozenset(connections)
        self._header = b""
        self._connection = 0
        self._left = 0

    def receive(self, data: bytes) -> Iterator[Chunk]:
        """Take bytes, of any length. Raises ``MuxError``, and again for whatever follows it."""
        view = memoryview(data)
        if self.state is State.BROKEN:
            raise MuxError("the NRI trunk is broken: an earlier frame was too large")
        while view:
            view = self._take_header(view) if self.state is State.HEADER else view
            if self.state is State.PAYLOAD and view:
                part, view = view[: self._left], view[self._left :]
                self._left -= len(part)
                if self._connection in self._known:
                    yield Chunk(self._connection, bytes(part))
                self._enter(State.PAYLOAD if self._left else State.HEADER)

    def _take_header(self, view: memoryview) -> memoryview:
        missing = _HEADER.size - len(self._header)
        self._header += view[:missing]
        if len(self._header) == _HEADER.size:
            self._connection, self._left = _HEADER.unpack(self._header)
            self._header = b""
            if self._left > MAX_PAYLOAD:
                self._enter(State.BROKEN)
                raise MuxError(f"an NRI frame claims {self._left} bytes, more than the {MAX_PAYLOAD} allowed")
            self._enter(State.PAYLOAD if self._left else State.HEADER)
        return view[missing:]

    def _enter(self, state: State) -> None:
        if state is not self.state:
            assert state in TRANSITIONS[self.state], f"{self.state} to {state}"
            self.state = state


def frames(connection: int, message: bytes) -> bytes:
    """Give the frames of one message. Each message starts a frame of its own; see the limits above for why."""
    count = min(max(math.ceil(len(message) / SAFE_PAYLOAD), 1), MAX_BURST)
    starts = [index * SAFE_PAYLOAD for index in range(count)]
    parts = [message[start:end] for start, end in zip(starts, [*starts[1:], len(message)], strict=True)]
    return b"".join(_HEADER.pack(connection, len(part)) + part for part in parts)
