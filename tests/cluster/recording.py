"""Traffic of a socket, kept frame by frame, and written as a golden file for the tests of the wire."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.relay import Relay

THEIRS, OURS = ">", "<"
"""Who sent a frame: the kubelet or runtime, or the agent."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

Split = Callable[[bytes], int]
"""Gives the length of the first frame of some bytes, 0 where it is not there as a whole."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of one connection."""

    sender: str
    data: bytes


class Recorder(Relay):
    """A relay from ``place`` to ``target`` that keeps what passes. The agent is at ``place`` if ``agent_calls``."""

    def __init__(self, place: Path, target: Path, split: Split, *, agent_calls: bool) -> None:
        self._split = split
        self._senders = (OURS, THEIRS) if agent_calls else (THEIRS, OURS)
        self._kept: list[list[Frame]] = []
        self._left: dict[tuple[int, str], bytes] = {}
        self._lock = threading.Lock()
        place.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(place, target)

    def connections(self) -> list[list[Frame]]:
        """Give the frames of each connection that had any."""
        with self._lock:
            return [list(frames) for frames in self._kept if frames]

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._keep(source, data)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def _keep(self, source: socket.socket, data: bytes) -> None:
        number, side = next((n, pair.index(source)) for n, pair in enumerate(self._pairs) if source in pair)
        sender = self._senders[side]
        with self._lock:
            while len(self._kept) <= number:
                self._kept.append([])
            data = self._left.pop((number, sender), b"") + data
            while length := self._split(data):
                self._kept[number].append(Frame(sender, data[:length]))
                data = data[length:]
            self._left[number, sender] = data


def http2(data: bytes) -> int:
    """Give the length of HTTP/2's first frame, or of its preface."""
    if data.startswith(PREFACE[:9]):
        return len(PREFACE) if len(data) >= len(PREFACE) else 0
    length = 9 + int.from_bytes(data[:3], "big")
    return length if len(data) >= max(length, 9) else 0


def mux(data: bytes) -> int:
    """Give the length of the first frame of NRI's multiplexer."""
    length = 8 + int.from_bytes(data[4:8], "big")
    return length if len(data) >= max(length, 8) else 0


class Names:
    """Replaces ids and folders that are other ones each time by steady ones of the same length, in order."""

    _CHANGING = re.compile(
        rb"(?<![0-9a-f])[0-9a-f]{64}"  # sandboxes and containers
        rb"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
        rb"|(?<=/dragoman-node-)[a-z0-9_]{8}"
    )

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}

    def steady(self, data: bytes) -> bytes:
        """Give the bytes with steady names."""
        return self._CHANGING.sub(lambda found: self._name(found.group()), data)

    def _name(self, name: bytes) -> bytes:
        if name not in self._known:
            number = b"%d" % (len(self._known) + 1)
            model = re.sub(rb"[^-]", b"0", name) if len(name) > 8 else b"recorded"
            self._known[name] = model if len(name) == 8 else model[: -len(number)] + number
        return self._known[name]


def write(path: Path, about: str, connections: Iterable[Sequence[Frame]]) -> None:
    """Write a golden file; ``about`` says what it is of."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines(about, connections)) + "\n")


def _lines(about: str, connections: Iterable[Sequence[Frame]]) -> Iterator[str]:
    yield f"# {about}"
    yield "# One frame a line, in hexadecimal digits: > to the agent, < from it. Made by python -m tests.cluster record"
    names = Names()
    for frames in connections:
        yield "connection"
        yield from (f"{frame.sender} {names.steady(frame.data).hex()}" for frame in frames)
