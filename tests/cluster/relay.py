"""A relay between the agent and the runtime's NRI socket, which can lose the runtime without the agent's being told."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path


class Relay:
    """Listens at ``place`` and hands everything on to ``runtime`` and back."""

    def __init__(self, place: Path, runtime: Path) -> None:
        self._runtime = runtime
        self._forgotten: set[socket.socket] = set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []
        place.parent.mkdir(exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place))
        self._listener.listen()
        self._in_thread(self._accept)

    def forget(self) -> None:
        """Leave the runtime; the agent's connections stay open, and nobody answers on them."""
        for agent, runtime in self._pairs:
            self._forgotten.add(agent)
            with contextlib.suppress(OSError):
                runtime.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for end in (end for pair in self._pairs for end in pair):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *(end for pair in self._pairs for end in pair)):
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                agent, _ = self._listener.accept()
                runtime = socket.socket(socket.AF_UNIX)
                self._pairs.append((agent, runtime))
                runtime.connect(str(self._runtime))
                self._in_thread(self._pass, agent, runtime)
                self._in_thread(self._pass, runtime, agent)

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        if sink not in self._forgotten:
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_RDWR)

    def _in_thread(self, work: Callable[..., None], *ends: socket.socket) -> None:
        thread = threading.Thread(target=work, args=ends, name="relay")
        self._threads.append(thread)
        thread.start()
