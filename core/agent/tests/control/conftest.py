"""A control server on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from dragoman.control.server import Call, ControlServer, Handler
from dragoman.model.errors import Refused

Serve = Callable[..., Awaitable[ControlServer]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "control.sock"


@pytest.fixture
async def serve(path: Path) -> AsyncIterator[Serve]:
    """Start a server with the handlers of ``ECHO`` and those given by name."""
    async with AsyncExitStack() as stack:

        async def run(**handlers: Handler) -> ControlServer:
            server = ControlServer(path, {"echo": _echo, "refuse": _refuse, "fault": _fault, **handlers})
            await server.publish()
            stack.push_async_callback(server.close)
            return server

        yield run


async def _echo(call: Call) -> object:
    return call.params


async def _refuse(call: Call) -> object:
    raise Refused("claim default/c1: release it first")


async def _fault(call: Call) -> object:
    await asyncio.sleep(0)
    raise KeyError("missing")
