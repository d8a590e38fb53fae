"""Connections of a stream server end with it, at whatever point they are."""

from __future__ import annotations

import asyncio
import gc
import socket
import warnings
from pathlib import Path

import pytest

from dragoman.conversations import Conversations, stop_listening

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def never(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def connection(path: Path) -> tuple[Streams, Streams]:
    """Make a connection that nobody holds: the server's end, and the client's."""
    arrived: asyncio.Future[Streams] = asyncio.get_running_loop().create_future()
    server = await asyncio.start_unix_server(lambda *streams: arrived.set_result(streams), str(path))
    client = await asyncio.open_unix_connection(str(path))
    ours = await arrived
    server.close()  # Its end is not waited for: from Python 3.12 on that takes as long as the connection.
    return ours, client


async def test_what_was_said_last_is_heard_and_then_the_connection_ends(tmp_path: Path) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")

    ours, (reader, writer) = await connection(tmp_path / "s")
    Conversations(greet).accept(*ours)
    assert await reader.read() == b"hello"
    writer.close()


async def test_a_conversation_that_had_no_time_to_begin_is_closed_too(tmp_path: Path) -> None:
    (_, ours), (reader, writer) = ends = await connection(tmp_path / "s")
    conversations = Conversations(never)
    conversations.accept(*ends[0])
    await conversations.end()
    assert ours.transport.is_closing()
    assert await reader.read() == b""
    writer.close()


async def test_who_does_not_read_what_was_said_last_is_cut_off_at_the_end(tmp_path: Path) -> None:
    said = asyncio.Event()

    async def shout(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(1 << 20))
        said.set()

    ours, (_, writer) = await connection(tmp_path / "s")
    conversations = Conversations(shout)
    conversations.accept(*ours)
    await said.wait()
    await asyncio.sleep(0)
    assert ours[1].transport.get_write_buffer_size() > 0
    await conversations.end()
    assert ours[1].get_extra_info("socket").fileno() == -1
    writer.transport.abort()


async def test_no_conversation_begins_after_the_end(tmp_path: Path) -> None:
    ours, (reader, writer) = await connection(tmp_path / "s")
    conversations = Conversations(never)
    await conversations.end()
    conversations.accept(*ours)
    assert await reader.read() == b""
    writer.close()


async def test_the_end_waits_for_what_a_conversation_still_has_to_do(tmp_path: Path) -> None:
    begun, done = asyncio.Event(), list[str]()

    async def tidy(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        begun.set()
        try:
            await reader.read()
        finally:
            await asyncio.sleep(0)
            done.append("tidied")

    ours, (_, writer) = await connection(tmp_path / "s")
    conversations = Conversations(tidy)
    conversations.accept(*ours)
    await begun.wait()
    await conversations.end()
    assert done == ["tidied"]
    writer.close()


@pytest.mark.parametrize("turns", range(6))
async def test_no_connection_is_lost_that_comes_while_the_server_ends(turns: int, tmp_path: Path) -> None:
    conversations = Conversations(never)
    server = await asyncio.start_unix_server(conversations.accept, str(tmp_path / "s"))
    with socket.socket(socket.AF_UNIX) as client, warnings.catch_warnings(record=True) as leaks:
        warnings.simplefilter("always", ResourceWarning)
        client.connect(str(tmp_path / "s"))
        for _ in range(turns):
            await asyncio.sleep(0)
        await stop_listening(server)
        await conversations.end()
        # What was accepted last is known to the server two turns later, and is closed in the one after that.
        for _ in range(3):
            await asyncio.sleep(0)
        gc.collect()
    assert [str(leak.message) for leak in leaks] == []
