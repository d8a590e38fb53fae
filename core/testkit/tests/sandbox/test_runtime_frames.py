"""The stand-in takes the frames that a runtime takes, and breaks at the others."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from dragoman.nri.mux import MuxError, frames
from dragoman_testkit.sandbox.runtime_frames import RoomyReader


def message(data: int) -> bytes:
    return data.to_bytes(4, "big") + bytes.fromhex("000000010200") + b"x" * data


def frame(data: bytes) -> bytes:
    return (1).to_bytes(4, "big") + len(data).to_bytes(4, "big") + data


async def read(data: bytes, size: int = 65536) -> bytes:
    stream = asyncio.StreamReader()
    stream.feed_data(data)
    stream.feed_eof()
    reader, taken = RoomyReader(stream), b""
    while part := await reader.read(size):
        taken += part
    return taken


@pytest.mark.parametrize(
    ("data", "size"), [*itertools.product([0, 4085, 4086, 4087, 20_000], [7, 65536]), (1_200_000, 65536)]
)
async def test_what_the_agent_writes_is_taken_however_it_arrives(data: int, size: int) -> None:
    wire = frames(1, message(data)) + frames(2, message(data)) + frames(1, message(3))
    assert await read(wire, size) == wire


async def test_a_frame_longer_than_the_buffer_breaks_the_connection() -> None:
    with pytest.raises(MuxError, match=r"4097 bytes.*room for 4096"):
        await read(frame(message(4087)))


async def test_a_long_frame_passes_where_that_much_of_a_message_is_missing() -> None:
    whole = message(20_000)
    assert await read(frame(whole[:4096]) + frame(whole[4096:]))
    with pytest.raises(MuxError, match="room for 15914"):
        await read(frame(whole[:4096]) + frame(whole[4096:] + b"x"))
