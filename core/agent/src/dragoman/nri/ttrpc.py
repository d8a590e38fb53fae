"""ttrpc without I/O, both roles, unary calls only: bytes in, events out; calls and answers in, messages out.

A message is a header (data length and stream id, 4 bytes each, big-endian, then type and flags, 1 byte each) and its
data. Messages to be sent are fetched one by one with ``take``, because the multiplexer must not join them.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from dragoman.nri._proto.ttrpc_pb2 import Request, Response, Status
from dragoman_hookspecs import DragomanError

MAX_DATA = 4 << 20
REQUEST, RESPONSE = 1, 2
"""Message types. 3 is data of a stream, which NRI does not use; it is ignored like types that do not exist yet."""

_HEADER = struct.Struct(">IIBB")


class Code(enum.IntEnum):
    """Status codes, those of gRPC."""

    OK = 0
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


class CallError(DragomanError):
    """A call was answered with an error, or is to be answered with it."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class IllegalStep(DragomanError):
    """A stream was asked for something that its state does not allow."""


class State(enum.Enum):
    """Where a stream is."""

    IDLE = "idle"
    OPEN = "open"
    DONE = "done"


class Step(enum.Enum):
    """What happens on a stream."""

    CALL = "call"
    ANSWER = "answer"
    ABANDON = "abandon"


Table = Mapping[tuple[State, Step], State]

SERVER: Table = {
    (State.IDLE, Step.CALL): State.OPEN,
    (State.OPEN, Step.ANSWER): State.DONE,
}
CLIENT: Table = {
    (State.IDLE, Step.CALL): State.OPEN,
    (State.OPEN, Step.ANSWER): State.DONE,
    # There is no message for it: the caller just stops waiting, and a late answer finds nobody.
    (State.OPEN, Step.ABANDON): State.DONE,
}


class Streams:
    """The streams of one connection. Ids only grow, so the open ones and the last id tell the state of all."""

    def __init__(self, table: Table) -> None:
        self.last = 0
        self._table = table
        self._open: set[int] = set()

    def state(self, stream: int) -> State:
        """Give the state of a stream."""
        if stream in self._open:
            return State.OPEN
        return State.IDLE if stream > self.last else State.DONE

    def step(self, stream: int, step: Step) -> None:
        """Take a step. Raises ``IllegalStep``."""
        state = self.state(stream)
        after = self._table.get((state, step))
        if after is None:
            raise IllegalStep(f"{step.value} on ttrpc stream {stream}, which is {state.value}")
        if after is State.OPEN:
            self._open.add(stream)
            self.last = stream
        else:
            self._open.discard(stream)


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it arrived; ``data`` is None where it was too large and left out."""

    stream: int
    type: int
    data: bytes | None


class MessageReader:
    """Turns a stream of bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._discard = 0

    def receive(self, data: bytes) -> Iterator[Message]:
        """Take bytes, of any length, and give the messages that they complete."""
        skipped = min(self._discard, len(data))
        self._discard -= skipped
        self._buffer += data[skipped:]
        while len(self._buffer) >= _HEADER.size:
            length, stream, type_, _flags = _HEADER.unpack_from(self._buffer)
            end = _HEADER.size + length
            if length > MAX_DATA:
                self._discard = max(end - len(self._buffer), 0)
                del self._buffer[:end]
                yield Message(stream, type_, None)
            elif len(self._buffer) >= end:
                body = bytes(self._buffer[_HEADER.size : end])
                del self._buffer[:end]
                yield Message(stream, type_, body)
            else:
                return


@dataclass(frozen=True, slots=True)
class Call:
    """A request that wants an answer. ``timeout`` in seconds, None for none."""

    stream: int
    service: str
    method: str
    payload: bytes
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call of ours."""

    stream: int
    code: int
    message: str
    payload: bytes


class _End:
    """What both roles share."""

    def __init__(self, table: Table) -> None:
        self._streams = Streams(table)
        self._reader = MessageReader()
        self._outgoing: list[bytes] = []

    def take(self) -> list[bytes]:
        """Give the messages to be sent since the last call, each to be framed on its own."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def _send(self, stream: int, type_: int, data: bytes) -> None:
        self._outgoing.append(_HEADER.pack(len(data), stream, type_, 0) + data)


class Server(_End):
    """The end that is called. What a request does wrong is answered here and never seen outside."""

    def __init__(self) -> None:
        super().__init__(SERVER)

    def receive(self, data: bytes) -> Iterator[Call]:
        """Take bytes and give the calls that they complete."""
        for message in self._reader.receive(data):
            if message.type == REQUEST:
                try:
                    yield self._accept(message)
                except CallError as error:
                    self._respond(message.stream, Response(status=Status(code=error.code, message=str(error))))

    def answer(self, stream: int, payload: bytes) -> None:
        """Answer a call. Raises ``IllegalStep`` unless it is open."""
        self._streams.step(stream, Step.ANSWER)
        self._respond(stream, Response(payload=payload))

    def fail(self, stream: int, error: CallError) -> None:
        """Answer a call with an error. Raises ``IllegalStep`` unless it is open."""
        self._streams.step(stream, Step.ANSWER)
        self._respond(stream, Response(status=Status(code=error.code, message=str(error))))

    def _accept(self, message: Message) -> Call:
        if message.data is None:
            raise CallError(Code.RESOURCE_EXHAUSTED, f"the request has more than the {MAX_DATA} bytes allowed")
        if message.stream % 2 == 0:
            raise CallError(Code.INVALID_ARGUMENT, f"stream id {message.stream} must be odd")
        if self._streams.state(message.stream) is not State.IDLE:
            raise CallError(Code.INVALID_ARGUMENT, f"stream id {message.stream} must increment")
        try:
            request = Request.FromString(message.data)
        except DecodeError as error:
            raise CallError(Code.INVALID_ARGUMENT, f"the request cannot be read: {error}") from error
        self._streams.step(message.stream, Step.CALL)
        timeout = request.timeout_nano / 1e9 if request.timeout_nano > 0 else None
        return Call(message.stream, request.service, request.method, request.payload, timeout)

    def _respond(self, stream: int, response: Response) -> None:
        data = response.SerializeToString()
        if len(data) > MAX_DATA:
            text = f"the answer has {len(data)} bytes, more than the {MAX_DATA} allowed"
            data = Response(status=Status(code=Code.RESOURCE_EXHAUSTED, message=text)).SerializeToString()
        self._send(stream, RESPONSE, data)


class Client(_End):
    """The end that calls."""

    def __init__(self) -> None:
        super().__init__(CLIENT)

    def call(self, service: str, method: str, payload: bytes, timeout: float | None = None) -> int:
        """Make a call and give its stream. Raises ``CallError`` if it is too large to be sent."""
        nanoseconds = int(timeout * 1e9) if timeout else 0
        data = Request(service=service, method=method, payload=payload, timeout_nano=nanoseconds).SerializeToString()
        if len(data) > MAX_DATA:
            raise CallError(Code.RESOURCE_EXHAUSTED, f"the request of {method} has more than {MAX_DATA} bytes")
        stream = self._streams.last + 2 if self._streams.last else 1
        self._streams.step(stream, Step.CALL)
        self._send(stream, REQUEST, data)
        return stream

    def abandon(self, stream: int) -> None:
        """Stop waiting for an answer. Raises ``IllegalStep`` unless the call is open."""
        self._streams.step(stream, Step.ABANDON)

    def receive(self, data: bytes) -> Iterator[Answer]:
        """Take bytes and give the answers that they complete; answers that nobody waits for are dropped."""
        for message in self._reader.receive(data):
            if message.type == RESPONSE and self._streams.state(message.stream) is State.OPEN:
                self._streams.step(message.stream, Step.ANSWER)
                yield _answer(message)


def _answer(message: Message) -> Answer:
    if message.data is None:
        return Answer(message.stream, Code.RESOURCE_EXHAUSTED, f"the answer has more than {MAX_DATA} bytes", b"")
    try:
        response = Response.FromString(message.data)
    except DecodeError as error:
        return Answer(message.stream, Code.INTERNAL, f"the answer cannot be read: {error}", b"")
    return Answer(message.stream, response.status.code, response.status.message, response.payload)
