"""An NRI plugin that does what a test says, and writes down what it was told."""

from __future__ import annotations

import contextlib
import socket as unix
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from dragoman.nri import ttrpc
from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.mux import PLUGIN_ID, RUNTIME_ID, MuxReader, frames
from dragoman.nri.plugin import RUNTIME_SERVICE
from dragoman.nri.ttrpc import Answer, Call, CallError, Code

Reply = Callable[[Any], bytes | CallError | None]
"""Takes a request and gives the answer's payload, an error, or None: no answer at all."""

REQUESTS: dict[str, Any] = {
    "Configure": pb.ConfigureRequest,
    "Synchronize": pb.SynchronizeRequest,
    "CreateContainer": pb.CreateContainerRequest,
    "StateChange": pb.StateChangeEvent,
    "RunPodSandbox": pb.RunPodSandboxRequest,
    "StopPodSandbox": pb.StopPodSandboxRequest,
    "RemovePodSandbox": pb.RemovePodSandboxRequest,
}
EVENTS = {
    "RunPodSandbox": pb.RUN_POD_SANDBOX,
    "StopPodSandbox": pb.STOP_POD_SANDBOX,
    "RemovePodSandbox": pb.REMOVE_POD_SANDBOX,
}
_PATIENCE = 60.0


class Plugin:
    """A plugin at the runtime's ``socket``; connected and registered within its context.

    ``events`` and ``policy`` are what it answers to Configure; ``replies`` what it does else, by the name of the call,
    also where that came as StateChange. ``told`` is what it was told, by the same names; ``seen`` whether the path of
    the network namespace in it was there; ``calls`` how it came. ``in_one_frame``: answers are not split, however long
    they are. ``place`` maps a path of the runtime's to one of this process.
    """

    def __init__(
        self,
        socket: Path,
        name: str = "suite",
        idx: str = "10",
        *,
        events: int = 0xF,
        policy: pb.FailurePolicy | None = None,
        place: Callable[[str], Path] = Path,
    ) -> None:
        self.replies: dict[str, Reply] = {}
        self.told: list[tuple[str, Any]] = []
        self.seen: list[tuple[str, str, bool]] = []
        self.calls: list[str] = []
        self.in_one_frame = False
        self.ended = threading.Event()
        self.synchronized = threading.Event()
        self._registration = pb.RegisterPluginRequest(plugin_name=name, plugin_idx=idx)
        self._configure = pb.ConfigureResponse(events=events, failure_policy=policy)
        self._path = socket
        self._place = place
        self._socket = unix.socket(unix.AF_UNIX)
        self._mux = MuxReader({PLUGIN_ID, RUNTIME_ID})
        self._server, self._client = ttrpc.Server(), ttrpc.Client()
        self._lock = threading.Lock()
        self._answers: dict[int, Answer] = {}
        self._answered = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"plugin-{idx}-{name}")

    def __enter__(self) -> Plugin:
        self.connect()
        answer = self.register()
        assert answer.code == 0, answer.message
        assert self.synchronized.wait(_PATIENCE), "the runtime has synchronized the plugin"
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def connect(self) -> None:
        """Connect, and no more."""
        self._socket.connect(str(self._path))
        self._thread.start()

    def register(self) -> Answer:
        """Register, and give the answer."""
        return self.ask("RegisterPlugin", self._registration.SerializeToString())

    def ask(self, method: str, payload: bytes = b"") -> Answer:
        """Call the runtime, and give its answer; UNAVAILABLE where the connection ends without one."""
        with self._lock:
            stream = self._client.call(RUNTIME_SERVICE, method, payload)
            self._flush()

        def is_over() -> bool:
            return stream in self._answers or self.ended.is_set()

        with self._answered:
            assert self._answered.wait_for(is_over, _PATIENCE), f"{method} is answered"
            return self._answers.get(stream) or Answer(stream, Code.UNAVAILABLE, "the connection has ended", b"")

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        with self._lock:
            self._socket.sendall(data)

    def close(self) -> None:
        """Leave."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(unix.SHUT_RDWR)
        if self._thread.ident:
            self._thread.join()
        self._socket.close()

    def of(self, name: str) -> list[Any]:
        """Give what it was told under one name."""
        return [told for each, told in self.told if each == name]

    def happened(self) -> list[str]:
        """Name what it was told, in order, without the beginning."""
        return [name for name, _ in self.told if name not in {"Configure", "Synchronize"}]

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._socket.recv(65536):
                for chunk in self._mux.receive(data):
                    if chunk.connection == PLUGIN_ID:
                        for call in self._server.receive(chunk.data):
                            self._serve(call)
                    else:
                        self._settle(self._client.receive(chunk.data))
        with self._answered:
            self.ended.set()
            self._answered.notify_all()

    def _settle(self, answers: Iterator[Answer]) -> None:
        with self._answered:
            self._answers |= {answer.stream: answer for answer in answers}
            self._answered.notify_all()

    def _serve(self, call: Call) -> None:
        request = REQUESTS[call.method].FromString(call.payload)
        name = name_of(call.method, request)
        self.calls.append(call.method)
        self._note(name, request)
        reply = self._reply(name, request)
        if reply is None:
            return
        with self._lock:
            if isinstance(reply, CallError):
                self._server.fail(call.stream, reply)
            else:
                self._server.answer(call.stream, reply)
            self._flush()
        if name == "Synchronize" and not request.more:
            self.synchronized.set()

    def _note(self, name: str, request: Any) -> None:
        self.told.append((name, request))
        if hasattr(request, "pod"):
            path = netns(request.pod)
            self.seen.append((name, path, bool(path) and self._place(path).exists()))

    def _reply(self, name: str, request: Any) -> bytes | CallError | None:
        if name in self.replies:
            return self.replies[name](request)
        if name == "Configure":
            return self._configure.SerializeToString()
        if name == "Synchronize":
            return pb.SynchronizeResponse(more=request.more).SerializeToString()
        return b""

    def _flush(self) -> None:
        for connection, end in ((PLUGIN_ID, self._server), (RUNTIME_ID, self._client)):
            for message in end.take():
                with contextlib.suppress(BrokenPipeError):
                    self._socket.sendall((one_frame if self.in_one_frame else frames)(connection, message))


def netns(pod: pb.PodSandbox) -> str:
    """Give the path of a pod's network namespace, as the runtime tells it."""
    return next((space.path for space in pod.linux.namespaces if space.type == "network"), "")


def one_frame(connection: int, message: bytes) -> bytes:
    """Frame a message in one piece, however long."""
    return struct.pack(">II", connection, len(message)) + message


def name_of(method: str, request: Any) -> str:
    """Name a call, a StateChange by what it tells."""
    if method != "StateChange":
        return method
    return next((name for name, event in EVENTS.items() if event == request.event), pb.Event.Name(request.event))
