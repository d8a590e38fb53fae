"""The question whether the runtime still knows the agent costs the runtime nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dragoman.model.sandboxes import Container, Sandbox
from dragoman.nri.connection import Connection
from dragoman.nri.mux import PLUGIN_ID, RUNTIME_ID
from dragoman.nri.plugin import RUNTIME_SERVICE, NriPlugin
from dragoman.nri.ttrpc import Call, CallError, Code
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.streams import listening

KNOWN = {"RegisterPlugin", "UpdateContainers"}
"""The calls that a runtime has."""


class Nobody:
    """A service that nobody asks."""

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        raise AssertionError

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        raise AssertionError

    stop_sandbox = remove_sandbox = run_sandbox

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        raise AssertionError


async def test_no_question_is_a_call_for_which_the_runtime_takes_its_locks(tmp_path: Path) -> None:
    clock, asked, joined = VirtualClock(), list[str](), list[Connection]()

    async def answer(call: Call) -> bytes:
        assert call.service == RUNTIME_SERVICE
        asked.append(call.method)
        if call.method not in KNOWN:
            raise CallError(Code.UNIMPLEMENTED, f"method {call.method}")
        return b""

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        joined.append(Connection(reader, writer, answer, serves=RUNTIME_ID, calls=PLUGIN_ID, clock=clock))
        await joined[-1].run()

    socket = tmp_path / "nri.sock"
    async with listening(join, socket):
        plugin = NriPlugin(Nobody(), socket=socket, name="dragoman", idx="42", clock=clock)
        running = asyncio.ensure_future(plugin.run())
        for _ in range(2000):
            await clock.advance(0.1)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert len(joined) == 1, "a runtime that answers is not left"
    assert asked[0] == "RegisterPlugin"
    assert len(asked) > 3
    assert not KNOWN & set(asked[1:])
