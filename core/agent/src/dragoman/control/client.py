"""The client of the control socket, for another agent and for the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from dragoman.control import messages
from dragoman.model.errors import Unavailable
from dragoman.patience import Patience
from dragoman_hookspecs import JsonObject


class AgentUnreachable(Unavailable):
    """No agent answers at the control socket."""


class Connection:
    """A connection to an agent, for one call after the other. What fails or is cancelled closes it."""

    def __init__(self, path: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._path = path
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, path: Path) -> Connection:
        """Connect. Raises ``AgentUnreachable``."""
        try:
            return cls(path, *await asyncio.open_unix_connection(path, limit=messages.ANSWER_LIMIT))
        except OSError as error:
            raise AgentUnreachable(f"no agent listens at {path} ({error}): is dragoman agent running?") from error

    async def call(self, method: str, params: JsonObject | None = None, *, seconds: float | None = None) -> Any:
        """Call a method and give its result, within so many seconds of real time (None: however long it takes).

        Raises ``RemoteError`` for an error of the agent, ``BadRequest`` for a request that is too long, or
        ``AgentUnreachable``.
        """
        request = messages.request(method, params or {})
        try:
            async with asyncio.timeout(seconds):
                self._writer.write(request)
                await self._writer.drain()
                line = await self._reader.readline()
        except TimeoutError as error:
            self.close()
            raise AgentUnreachable(f"the agent at {self._path} did not answer within {seconds} s") from error
        except (OSError, ValueError) as error:
            self.close()
            raise AgentUnreachable(f"the agent at {self._path} did not answer: {error}") from error
        except BaseException:
            self.close()
            raise
        if not line.endswith(b"\n"):
            self.close()
            raise AgentUnreachable(f"the agent at {self._path} ended before it had answered")
        return messages.parse_answer(line)

    def close(self) -> None:
        """Close the connection at once; closing again does nothing."""
        self._writer.transport.abort()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def call(path: Path, method: str, params: JsonObject | None = None, *, seconds: float | None = None) -> Any:
    """Connect, call one method, and close. Raises as ``Connection.call``."""
    async with await Connection.open(path) as connection:
        return await connection.call(method, params, seconds=seconds)


def call_now(
    path: Path,
    method: str,
    params: JsonObject | None = None,
    *,
    seconds: float = 30.0,
    tell: Callable[[str], None] = lambda _: None,
) -> Any:
    """As ``call``, for a program that has no event loop: the command line. ``tell`` gets what takes long."""
    answer = call(path, method, params, seconds=seconds)
    return asyncio.run(Patience(tell=tell).told(f"the agent at {path} to answer", answer))
