"""A real runtime's conversation, replayed: what it sent is understood, and what was answered is answered again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dragoman.model.sandboxes import Container, Sandbox
from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.mux import PLUGIN_ID, RUNTIME_ID, Chunk, MuxReader, frames
from dragoman.nri.plugin import NriPlugin
from dragoman.nri.session import PLUGIN_SERVICE, sandbox_of
from dragoman.nri.ttrpc import Answer, Call, Client, Message, MessageReader, Server
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.streams import listening

THEIRS, OURS = ">", "<"
REQUESTS: dict[str, Any] = {
    "Configure": pb.ConfigureRequest,
    "Synchronize": pb.SynchronizeRequest,
    "StateChange": pb.StateChangeEvent,
    "CreateContainer": pb.CreateContainerRequest,
}


def recorded() -> list[tuple[str, bytes]]:
    """Give sender and bytes of each frame."""
    lines = (Path(__file__).parent / "golden" / "nri.txt").read_text().splitlines()
    return [(line[0], bytes.fromhex(line[2:])) for line in lines if line[0] in (THEIRS, OURS)]


FRAMES = recorded()


class Service:
    """Answers as the one that was recorded."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.sandboxes: list[Sandbox] = []

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        self.sandboxes = list(sandboxes)

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.seen.append(f"run {sandbox.label} {bool(sandbox.netns_path)}")

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.seen.append(f"stop {sandbox.label} {bool(sandbox.netns_path)}")

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.seen.append(f"remove {sandbox.label} {bool(sandbox.netns_path)}")

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        self.seen.append(f"create {sandbox.label} {container.name}")
        return "its device is not attached yet" if container.name == "refused" else None


def understood(frame: bytes) -> list[Call | Answer | Message]:
    """Give what a frame of the runtime says, from a connection of its own."""
    return in_parts([frame])


def in_parts(parts: Sequence[bytes]) -> list[Call | Answer | Message]:
    mux, server, messages = MuxReader({PLUGIN_ID, RUNTIME_ID}), Server(), MessageReader()
    found: list[Call | Answer | Message] = []
    for part in parts:
        for chunk in mux.receive(part):
            found += server.receive(chunk.data) if chunk.connection == PLUGIN_ID else messages.receive(chunk.data)
    return found


@pytest.mark.parametrize("number", [n for n, (sender, _) in enumerate(FRAMES) if sender == THEIRS])
def test_a_frame_of_the_runtime_is_understood_and_split_at_every_byte_it_says_the_same(number: int) -> None:
    frame = FRAMES[number][1]
    (whole,) = understood(frame)
    if isinstance(whole, Call):
        assert whole.service == PLUGIN_SERVICE
        assert REQUESTS[whole.method].FromString(whole.payload) != REQUESTS[whole.method]()
        assert whole.timeout is not None
        assert 1 < whole.timeout <= 2
    for cut in range(1, len(frame)):
        assert in_parts([frame[:cut], frame[cut:]]) == [whole]


@pytest.mark.parametrize("number", [n for n, (sender, _) in enumerate(FRAMES) if sender == OURS])
def test_a_frame_of_ours_is_framed_again_as_it_was(number: int) -> None:
    frame = FRAMES[number][1]
    (chunk,) = MuxReader({PLUGIN_ID, RUNTIME_ID}).receive(frame)
    assert frames(chunk.connection, chunk.data) == frame
    assert len(list(MessageReader().receive(chunk.data))) == 1


def test_the_answers_to_our_calls_find_them() -> None:
    client, mux = Client(), MuxReader({PLUGIN_ID, RUNTIME_ID})
    stream = client.call("nri.pkg.api.v1alpha1.Runtime", "RegisterPlugin", b"")
    chunks: list[Chunk] = [chunk for sender, data in FRAMES if sender == THEIRS for chunk in mux.receive(data)]
    answers = [answer for chunk in chunks if chunk.connection == RUNTIME_ID for answer in client.receive(chunk.data)]
    assert [(answer.stream, answer.code) for answer in answers] == [(stream, 0)]


def test_what_the_runtime_tells_of_a_running_pod_is_all_that_is_needed() -> None:
    calls = [found for sender, data in FRAMES if sender == THEIRS for found in understood(data)]
    (told,) = (call for call in calls if isinstance(call, Call) and call.method == "Synchronize")
    request = pb.SynchronizeRequest.FromString(told.payload)
    (pod,), (container,) = request.pods, request.containers
    sandbox = sandbox_of(pod)
    assert (sandbox.label, sandbox.pod_uid, sandbox.ips) == ("suite/pod-1", "uid-pod-1", ("10.244.0.2",))
    assert (sandbox.netns_path or "").startswith("/var/run/netns/cni-")
    assert (container.name, container.pod_sandbox_id) == ("app", sandbox.id)
    assert pod.pid
    assert container.pid


@pytest.mark.parametrize("piece", [1, 3, 65536])
async def test_the_agent_answers_a_runtime_to_the_byte_as_it_was_recorded(tmp_path: Path, piece: int) -> None:
    service, clock = Service(), VirtualClock()
    said: asyncio.Future[list[tuple[str, bytes]]] = asyncio.get_running_loop().create_future()

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard: list[tuple[str, bytes]] = []
        for sender, data in FRAMES:
            if sender == THEIRS:
                for start in range(0, len(data), piece):
                    writer.write(data[start : start + piece])
                    await asyncio.sleep(0)
                heard.append((sender, data))
            else:
                heard.append((sender, await reader.readexactly(len(data))))
        said.set_result(heard)

    async with listening(play, tmp_path / "nri.sock"):
        plugin = NriPlugin(service, socket=tmp_path / "nri.sock", name="dragoman", idx="10", clock=clock)
        running = asyncio.ensure_future(plugin.run())
        assert await said == FRAMES
        assert [sandbox.label for sandbox in service.sandboxes] == ["suite/pod-1"]
        assert service.seen == [
            "run suite/pod-2 True",
            "create suite/pod-2 app",
            "create suite/pod-2 refused",
            "stop suite/pod-2 True",
            "remove suite/pod-2 False",
            "stop suite/pod-1 True",
            "remove suite/pod-1 False",
        ]
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
