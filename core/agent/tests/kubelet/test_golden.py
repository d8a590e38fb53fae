"""A real kubelet's connections, replayed: what it sent is understood, and what was answered is answered again."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dragoman.kubelet.calls import Calls
from dragoman.kubelet.dra import dra_services
from dragoman.kubelet.health import health_services
from dragoman.kubelet.listener import Listener
from dragoman.kubelet.registration import PluginInfo, Registrar, RegistrationState, Retry
from dragoman.model.claims import ClaimRef, PrepareAnswer, PreparedDevice
from dragoman_hookspecs import Health, HealthReport

THEIRS, OURS = ">", "<"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA = 0
DRIVER, NODE = "recorded.example.com", "node-1"
DEVICE = PreparedDevice(
    requests=("net",), pool=NODE, device="nic0", cdi_device_ids=("example.com/nic=nic0", "example.com/guard=1")
)
HEALTHY = HealthReport(device="nic0", health=Health.HEALTHY)
UNHEALTHY = HealthReport(device="nic1", health=Health.UNHEALTHY, message="no carrier: its cable is out", timeout=90.0)
VERSIONS = (
    ("v1.DRAPlugin", "v1.DRAResourceHealth"),
    ("v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"),
    ("v9.DRAPlugin",),
)
"""What each of the recorded registrations offered."""

Recorded = Sequence[tuple[str, bytes]]


def connections(name: str) -> list[Recorded]:
    """Give sender and bytes of each frame, by connection."""
    text = (Path(__file__).parent / "golden" / name).read_text()
    parts = (part.splitlines() for part in text.split("connection\n")[1:])
    return [[(line[0], bytes.fromhex(line[2:])) for line in part] for part in parts]


class Clock:
    """Time passes, and it is always the time of day of the recording."""

    def now(self) -> float:
        return 1_767_225_600.0

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Services:
    """Answer as those that were recorded."""

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.unprepared: list[str] = []
        self.uids: set[str] = set()

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        self.prepared += self._names(claims)
        bad = PrepareAnswer(error="pool lab has no device nic9")
        return {ref.uid: bad if "refused" in ref.name else PrepareAnswer(devices=(DEVICE,)) for ref in claims}

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        self.unprepared += self._names(claims)
        return dict.fromkeys((ref.uid for ref in claims), "")

    async def watch(self) -> AsyncIterator[Sequence[HealthReport]]:
        yield [HEALTHY]
        yield [HEALTHY, UNHEALTHY]
        await asyncio.Event().wait()

    def _names(self, claims: Sequence[ClaimRef]) -> list[str]:
        self.uids |= {ref.uid for ref in claims}
        return [f"{ref.namespace}/{ref.name}" for ref in claims]


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of HTTP/2."""

    type: int
    stream: int
    payload: bytes


def frame_of(data: bytes) -> Frame:
    length = int.from_bytes(data[:3], "big")
    assert len(data) == 9 + length
    return Frame(data[3], int.from_bytes(data[5:9], "big"), data[9:])


def messages(recorded: Recorded, sender: str) -> dict[int, bytes]:
    """Give what one end sent on each stream, without what belongs to HTTP."""
    found: dict[int, bytes] = defaultdict(bytes)
    for frame in (frame_of(data) for who, data in recorded if who == sender and data != PREFACE):
        if frame.type == DATA:
            found[frame.stream] += frame.payload
    return dict(found)


class Replay:
    """Says again what a kubelet said on one connection, when it had heard what it had heard before that."""

    def __init__(self, recorded: Recorded, piece: int) -> None:
        self.heard: dict[int, bytes] = defaultdict(bytes)
        self._recorded = recorded
        self._piece = piece
        self._news = asyncio.Event()

    async def run(self, socket: Path) -> dict[int, bytes]:
        """Give what was heard on each stream."""
        reader, writer = await asyncio.open_unix_connection(str(socket))
        listening = asyncio.ensure_future(self._listen(reader))
        due: dict[int, int] = defaultdict(int)
        try:
            for sender, data in self._recorded:
                if sender == THEIRS:
                    await self._say(writer, data)
                elif (frame := frame_of(data)).type == DATA:
                    due[frame.stream] += len(frame.payload)
                    await self._wait(frame.stream, due[frame.stream])
        finally:
            listening.cancel()
            writer.close()
            await asyncio.gather(listening, return_exceptions=True)
        return dict(self.heard)

    async def _say(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        for start in range(0, len(data), self._piece):
            writer.write(data[start : start + self._piece])
            await writer.drain()
            await asyncio.sleep(0)

    async def _wait(self, stream: int, length: int) -> None:
        while len(self.heard[stream]) < length:
            self._news.clear()
            await self._news.wait()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                header = await reader.readexactly(9)
                frame = frame_of(header + await reader.readexactly(int.from_bytes(header[:3], "big")))
                if frame.type == DATA:
                    self.heard[frame.stream] += frame.payload
                    self._news.set()


def grpc_messages(data: bytes) -> Iterator[bytes]:
    """Give the messages of a stream, none of which is compressed."""
    while data:
        assert data[0] == 0
        length = int.from_bytes(data[1:5], "big")
        assert len(data) >= 5 + length
        yield data[5 : 5 + length]
        data = data[5 + length :]


@pytest.mark.parametrize("name", ["registration.txt", "v1.txt", "v1beta1.txt"])
def test_every_frame_is_whole_and_every_message_too(name: str) -> None:
    for recorded in connections(name):
        assert next(data for sender, data in recorded if sender == THEIRS) == PREFACE
        for sender in (THEIRS, OURS):
            found = [list(grpc_messages(data)) for data in messages(recorded, sender).values()]
            assert found
            assert all(found)


@pytest.mark.parametrize("piece", [1, 65536])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_calls_for_claims_and_health_are_answered_to_the_byte(root: Path, version: str, piece: int) -> None:
    services, clock, ending = Services(), Clock(), asyncio.Event()
    offered = [*dra_services(services, Calls(clock)), *health_services(services, NODE, clock, ending)]
    listener = Listener(root / "dra" / "dra.sock", offered, own_folder=True)
    await listener.open()
    (recorded,) = connections(f"{version}.txt")
    heard = await Replay(recorded, piece).run(listener.path)
    ending.set()
    await listener.close(1)
    assert heard == messages(recorded, OURS)
    good, refused = f"kubelets/{version}-good", f"kubelets/{version}-refused"
    assert services.prepared[:1] == [good]
    assert set(services.prepared[1:]) == {refused}
    assert services.unprepared == [good, refused]
    assert len(services.uids) == 2


@pytest.mark.parametrize("piece", [1, 65536])
@pytest.mark.parametrize("number", range(3))
async def test_the_registration_is_answered_to_the_byte(root: Path, number: int, piece: int) -> None:
    endpoint = Path("/var/lib/kubelet/plugins", DRIVER, "dra.sock")
    info = PluginInfo(driver=DRIVER, endpoint=endpoint, versions=VERSIONS[number])
    registrar = Registrar(root / "reg.sock", info, Retry(interval=0.01, timeout=60), Clock())
    running = asyncio.ensure_future(registrar.run())
    await registrar.state.wait(lambda state: state.attempts == 1)
    told = asyncio.ensure_future(registrar.state.wait(_decided))
    recorded = connections("registration.txt")[number]
    assert await Replay(recorded, piece).run(root / "reg.sock") == messages(recorded, OURS)
    decided: Any = await told
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await registrar.stop()
    assert decided.registered == (number < 2)
    assert ("v9.DRAPlugin" in decided.reason) == (number == 2)


def _decided(state: RegistrationState) -> bool:
    return state.registered or state.refused
