"""A peer over a stream socket that says what a test has it say."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from dragoman.conversations import Conversations, Hold, stop_listening


@contextlib.asynccontextmanager
async def listening(hold: Hold, path: Path | None = None) -> AsyncIterator[int]:
    """Serve at ``path``, or on a port of the loopback interface, which it gives (0 for a path).

    With the block all connections end, also those that ``hold`` is still talking on.
    """
    conversations = Conversations(hold)
    if path is not None:
        server, port = await asyncio.start_unix_server(conversations.accept, str(path)), 0
    else:
        server = await asyncio.start_server(conversations.accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
    try:
        yield port
    finally:
        await stop_listening(server)
        await conversations.end()
