"""A relay that measures how long the agent takes to answer the runtime."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path

from dragoman.nri._proto.ttrpc_pb2 import Request
from dragoman.nri.mux import PLUGIN_ID, MuxReader
from dragoman.nri.ttrpc import REQUEST, Message, MessageReader
from tests.cluster.relay import Relay
from tests.cluster.shared.plugin import REQUESTS, name_of


class Stopwatch(Relay):
    """Between the agent at ``place`` and the ``runtime``. It adds what two threads of Python take to pass bytes on."""

    def __init__(self, place: Path, runtime: Path) -> None:
        self._lock = threading.Lock()
        self._begun: dict[tuple[int, int], tuple[str, float]] = {}
        self._taken: list[tuple[str, float]] = []
        super().__init__(place, runtime)

    def taken(self) -> list[tuple[str, float]]:
        """Give name and seconds of each answered call since the last time."""
        with self._lock:
            taken, self._taken = self._taken, []
            return taken

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        number = next(n for n, pair in enumerate(self._pairs) if source in pair)
        mux, messages = MuxReader({PLUGIN_ID}), MessageReader()
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                now = time.perf_counter()
                for chunk in mux.receive(data):
                    for message in messages.receive(chunk.data):
                        self._note(number, message, now)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def _note(self, connection: int, message: Message, now: float) -> None:
        key = connection, message.stream
        with self._lock:
            if message.type == REQUEST:
                request = Request.FromString(message.data or b"")
                name = name_of(request.method, REQUESTS[request.method].FromString(request.payload))
                self._begun[key] = name, now
            elif key in self._begun:
                name, begun = self._begun.pop(key)
                self._taken.append((name, now - begun))
