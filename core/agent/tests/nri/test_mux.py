"""The multiplexer: frames in any split, unknown ids, limits, and the reader that runtimes have."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.nri.mux import MAX_PAYLOAD, Chunk, MuxError, MuxReader, State, frames

CONFIGURE = bytes.fromhex("000000010000000e000000040000000102001202100f")


def joined(chunks: list[Chunk], connection: int) -> bytes:
    return b"".join(chunk.data for chunk in chunks if chunk.connection == connection)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def test_a_frame_is_read_whole() -> None:
    assert list(MuxReader({1}).receive(CONFIGURE)) == [Chunk(1, CONFIGURE[8:])]


@pytest.mark.parametrize("cut", range(len(CONFIGURE) + 1))
def test_a_frame_split_at_any_byte_gives_the_same_stream(cut: int) -> None:
    reader = MuxReader({1})
    chunks = [*reader.receive(CONFIGURE[:cut]), *reader.receive(CONFIGURE[cut:])]
    assert joined(chunks, 1) == CONFIGURE[8:]
    assert reader.state is State.HEADER


def test_frames_of_unknown_connections_are_read_and_dropped() -> None:
    data = frames(7, b"nobody is there") + frames(2, b"answer") + frames(0, b"reserved")
    assert list(MuxReader({1, 2}).receive(data)) == [Chunk(2, b"answer")]


def test_a_frame_without_payload_is_nothing() -> None:
    assert list(MuxReader({1}).receive(bytes.fromhex("0000000100000000") + frames(1, b"x"))) == [Chunk(1, b"x")]


def test_the_largest_frame_allowed_passes() -> None:
    header = bytes.fromhex("00000001") + MAX_PAYLOAD.to_bytes(4, "big")
    assert list(MuxReader({1}).receive(header)) == []


@pytest.mark.parametrize("connection", [1, 9])
def test_a_header_over_the_limit_breaks_the_trunk_for_good(connection: int) -> None:
    reader = MuxReader({1})
    header = connection.to_bytes(4, "big") + (MAX_PAYLOAD + 1).to_bytes(4, "big")
    received: list[Chunk] = []
    with pytest.raises(MuxError, match="claims 4194315 bytes"):
        received.extend(reader.receive(frames(1, b"before") + header))
    assert received == [Chunk(1, b"before")]
    with pytest.raises(MuxError, match="broken"):
        list(reader.receive(frames(1, b"after")))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 5]), st.binary(max_size=9000)), max_size=6),
    st.lists(st.integers(min_value=0, max_value=60000), max_size=8),
)
def test_messages_survive_any_split(messages: list[tuple[int, bytes]], cuts: list[int]) -> None:
    reader = MuxReader({1, 2})
    wire = b"".join(frames(connection, message) for connection, message in messages)
    chunks = [chunk for part in split(wire, cuts) for chunk in reader.receive(part)]
    for connection in (1, 2):
        assert joined(chunks, connection) == b"".join(message for id_, message in messages if id_ == connection)
    assert joined(chunks, 5) == b""


def sizes(wire: bytes) -> list[int]:
    """Give the payload sizes of the frames."""
    found = []
    while wire:
        size = int.from_bytes(wire[4:8], "big")
        found.append(size)
        wire = wire[8 + size :]
    return found


class StrictReader:
    """The reader of Go runtimes: a frame goes whole into the buffer that asks for it, or the connection is dead.

    Small reads go through a 4096-byte buffer that is filled by one frame at a time; a read of at least that much, with
    nothing buffered, is filled directly. 256 frames may wait.
    """

    def __init__(self, wire: bytes) -> None:
        self.waiting: list[bytes] = []
        while wire:
            size = int.from_bytes(wire[4:8], "big")
            self.waiting.append(wire[8 : 8 + size])
            wire = wire[8 + size :]
        if len(self.waiting) > 256:
            raise MemoryError("queue full")
        self.buffer = b""

    def frame(self, room: int) -> bytes:
        frame = self.waiting.pop(0)
        if len(frame) > room:
            raise MemoryError("cannot allocate memory")
        return frame

    def read(self, wanted: int) -> bytes:
        got = b""
        while len(got) < wanted:
            if not self.buffer and wanted - len(got) >= 4096:
                got += self.frame(wanted - len(got))
                continue
            self.buffer = self.buffer or self.frame(4096)
            taken, self.buffer = self.buffer[: wanted - len(got)], self.buffer[wanted - len(got) :]
            got += taken
        return got

    def message(self) -> bytes:
        header = self.read(10)
        return header + self.read(int.from_bytes(header[:4], "big"))


def message(data_size: int) -> bytes:
    return data_size.to_bytes(4, "big") + bytes.fromhex("000000010200") + b"x" * data_size


@pytest.mark.parametrize("data_size", [0, 1, 4085, 4086, 4087, 8182, 8192, 20_000, 1 << 20, 4 << 20])
def test_a_strict_reader_takes_what_we_write(data_size: int) -> None:
    reader = StrictReader(frames(2, message(data_size)))
    assert reader.message() == message(data_size)
    assert reader.waiting == []


def test_the_strict_reader_refuses_a_long_frame_and_a_flood() -> None:
    whole = message(20_000)
    with pytest.raises(MemoryError, match="cannot allocate"):
        StrictReader((2).to_bytes(4, "big") + len(whole).to_bytes(4, "big") + whole).message()
    with pytest.raises(MemoryError, match="queue full"):
        StrictReader(frames(2, b"x") * 257)


def test_a_small_message_after_another_is_never_joined_with_it() -> None:
    assert sizes(frames(1, message(4)) + frames(1, message(5))) == [14, 15]


@pytest.mark.parametrize(("data_size", "expected"), [(4086, [4096]), (4087, [4096, 1]), (8192, [4096, 4096, 10])])
def test_frames_carry_at_most_4096_bytes(data_size: int, expected: list[int]) -> None:
    assert sizes(frames(1, message(data_size))) == expected
