"""Connections of a stream server end with it, at whatever point they are."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dragoman.conversations import Conversations

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def never(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def connection(path: Path) -> tuple[Streams, Streams]:
    """Make a connection that nobody holds: the server's end, and the client's."""
    arrived: asyncio.Future[Streams] = asyncio.get_running_loop().create_future()
    async with await asyncio.start_unix_server(lambda *streams: arrived.set_result(streams), str(path)):
        client = await asyncio.open_unix_connection(str(path))
        return await arrived, client


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
