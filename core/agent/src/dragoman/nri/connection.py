"""One NRI trunk over a socket: serves one of its connections and calls on the other. Both ends of NRI use it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from loguru import logger

from dragoman.clock import Clock
from dragoman.nri import ttrpc
from dragoman.nri.mux import MuxReader, frames
from dragoman.nri.ttrpc import Call, CallError, Code
from dragoman.nri.work import within

Handler = Callable[[Call], Awaitable[bytes]]
"""Answers a call with a payload, or raises ``CallError``. Calls run side by side and start in the order of arrival."""


class Connection:
    """Life of one trunk: ``run`` reads until it ends, and then everything that belongs to it has ended too.

    Tasks of handlers are cancelled with it; what should outlast the trunk must not live in them.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handler: Handler,
        *,
        serves: int,
        calls: int,
        clock: Clock,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self._serves = serves
        self._calls = calls
        self._clock = clock
        self._mux = MuxReader({serves, calls})
        self._server = ttrpc.Server()
        self._client = ttrpc.Client()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False

    async def run(self) -> None:
        """Read and serve until the other end closes, or ``close`` is called. Raises ``MuxError`` on a broken frame."""
        try:
            while data := await self._read():
                for chunk in self._mux.receive(data):
                    if chunk.connection == self._serves:
                        self._serve(chunk.data)
                    else:
                        self._settle(chunk.data)
        finally:
            await self._end()

    async def call(self, service: str, method: str, payload: bytes, limit: float) -> bytes:
        """Call the other end and give the payload of its answer.

        Raises ``CallError``: with the other end's code and text, DEADLINE_EXCEEDED after ``limit`` seconds, or
        UNAVAILABLE where the trunk has ended or ends meanwhile.
        """
        if self._ended:
            raise _unavailable()
        stream = self._client.call(service, method, payload, limit)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[stream] = future
        self._flush()
        try:
            if not await within(self._clock, limit, future):
                raise CallError(Code.DEADLINE_EXCEEDED, f"{method} was not answered within {limit:g} s")
            return future.result()
        finally:
            self._waiting.pop(stream, None)
            if future.done():
                future.exception()  # has been seen, also where the caller is cancelled in this very moment
            else:
                self._client.abandon(stream)

    def close(self) -> None:
        """End the trunk; ``run`` returns soon."""
        self._writer.close()

    async def _read(self) -> bytes:
        with contextlib.suppress(OSError):
            return await self._reader.read(65536)
        return b""

    def _serve(self, data: bytes) -> None:
        for call in self._server.receive(data):
            task = asyncio.ensure_future(self._answer(call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._flush()

    async def _answer(self, call: Call) -> None:
        try:
            self._server.answer(call.stream, await self._handler(call))
        except CallError as error:
            self._server.fail(call.stream, error)
        except Exception as error:  # noqa: BLE001  # one call's fault must not end the trunk, and needs an answer
            logger.opt(exception=True).error(f"NRI {call.method} failed")
            self._server.fail(call.stream, CallError(Code.INTERNAL, f"{call.method} failed: {error}"))
        self._flush()

    def _settle(self, data: bytes) -> None:
        for answer in self._client.receive(data):
            future = self._waiting[answer.stream]
            if answer.code == Code.OK:
                future.set_result(answer.payload)
            else:
                future.set_exception(CallError(answer.code, answer.message))

    def _flush(self) -> None:
        for connection, end in ((self._serves, self._server), (self._calls, self._client)):
            for message in end.take():
                if not self._writer.is_closing():
                    self._writer.write(frames(connection, message))

    async def _end(self) -> None:
        self._ended = True
        self._writer.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_unavailable())
        tasks: set[asyncio.Task[Any]] = set(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def _unavailable() -> CallError:
    return CallError(Code.UNAVAILABLE, "the NRI connection has ended")
