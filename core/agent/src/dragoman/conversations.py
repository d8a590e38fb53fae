"""The connections of a server, and their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

Hold = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[object, object, None]]
"""Holds one conversation; when it returns or raises, the connection is closed once all that it wrote is sent."""


async def stop_listening(server: asyncio.Server) -> None:
    """Let nobody in any more, and close the sockets on which a server listens.

    A connection that was just accepted still gets its transport: asyncio loses it, open, where a server is closed in
    between (https://github.com/python/cpython/issues/109564).
    """
    for listener in server.sockets:
        asyncio.get_running_loop().remove_reader(listener)
    # The tasks of those who were accepted in this turn take their first step in the next one.
    await asyncio.sleep(0)
    server.close()


class Conversations:
    """Each connection that ``accept`` is given has a task of its own that holds the conversation.

    The connection is closed beside the task and not in it: one that is cancelled before its first step runs nothing
    of its body, so no ``finally`` of it either, and asyncio's own tasks for connections leave theirs open then.
    """

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._held: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._unsent: list[asyncio.StreamWriter] = []
        self._ended = False

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin one; it is what ``asyncio.start_server`` and ``asyncio.start_unix_server`` ask for."""
        if self._ended:
            writer.transport.abort()  # It was on its way in when the server stopped listening.
            return
        task = asyncio.ensure_future(self._hold(reader, writer))
        self._held[task] = writer
        task.add_done_callback(self._close)

    async def end(self) -> None:
        """Cancel all, wait until nothing of them runs and their connections are closed, and begin no more."""
        self._ended = True
        held = set(self._held)
        for writer in (*self._held.values(), *self._unsent):
            writer.transport.abort()
        for task in held:
            task.cancel()
        if held:
            await asyncio.wait(held)
        # An aborted transport closes its socket in the loop's next turn. Not wait_closed(): a task that was cancelled
        # in it has cancelled it for everybody.
        await asyncio.sleep(0)

    def _close(self, task: asyncio.Task[None]) -> None:
        writer = self._held.pop(task)
        writer.close()
        # A peer that does not read keeps its connection until the end of all.
        self._unsent = [one for one in (*self._unsent, writer) if one.transport.get_write_buffer_size()]
