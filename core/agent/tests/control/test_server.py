"""Server and client over a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.control import messages, sockets
from dragoman.control.client import AgentUnreachable, Connection, call, call_now
from dragoman.control.server import Call, ControlServer

Serve = Callable[..., Awaitable[ControlServer]]


async def raw(path: Path, data: bytes) -> list[dict[str, Any]]:
    """Send bytes, end the sending side, and give all answers."""
    reader, writer = await asyncio.open_unix_connection(path, limit=1 << 24)
    writer.write(data)
    writer.write_eof()
    answers = (await reader.read()).splitlines()
    writer.close()
    return [json.loads(answer) for answer in answers]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until the kernel has told what it must tell; the time limit of the test bounds it."""
    while not condition():  # noqa: ASYNC110 - the end of a connection sets no event while a handler runs
        await asyncio.sleep(0)


async def test_a_method_gets_its_params_and_the_caller_its_result(serve: Serve, path: Path) -> None:
    await serve()
    assert await call(path, "echo", {"a": [1, {"b": None}]}) == {"a": [1, {"b": None}]}


async def test_one_connection_serves_many_calls_in_order(serve: Serve, path: Path) -> None:
    await serve()
    async with await Connection.open(path) as connection:
        assert [await connection.call("echo", {"n": n}) for n in range(50)] == [{"n": n} for n in range(50)]
    lines = b"".join(messages.request("echo", {"n": n}) for n in range(5))
    assert [answer["result"]["n"] for answer in await raw(path, lines)] == list(range(5))


async def test_the_command_line_calls_without_a_loop_of_its_own(serve: Serve, path: Path) -> None:
    await serve()
    assert await asyncio.to_thread(call_now, path, "echo", {"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("method", "kind", "words"),
    [
        ("refuse", "Refused", "claim default/c1: release it first"),
        ("fault", "Internal", "KeyError"),
        ("nothing", "UnknownMethod", "no control method 'nothing'; it has echo, fault, refuse"),
    ],
)
async def test_errors_come_with_kind_and_sentence_and_the_conversation_goes_on(
    serve: Serve, path: Path, method: str, kind: str, words: str
) -> None:
    await serve()
    async with await Connection.open(path) as connection:
        with pytest.raises(messages.RemoteError, match=words) as caught:
            await connection.call(method)
        assert caught.value.kind == kind
        assert await connection.call("echo", {"still": "here"}) == {"still": "here"}


async def test_a_result_that_is_no_json_is_a_fault_of_the_agent_not_of_the_caller(serve: Serve, path: Path) -> None:
    async def handle(call: Call) -> object:
        return object()

    await serve(broken=handle)
    with pytest.raises(messages.RemoteError, match="fault of the agent"):
        await call(path, "broken")


async def test_garbage_is_answered_and_what_follows_is_served(serve: Serve, path: Path) -> None:
    await serve()
    data = b"garbage\n\n\xff\xfe\n[1]\n" + messages.request("echo", {"a": 1})
    answers = await raw(path, data)
    assert [answer.get("error", {}).get("kind") for answer in answers] == ["BadRequest"] * 4 + [None]
    assert answers[-1]["result"] == {"a": 1}


@pytest.mark.parametrize("excess", [0, 1, 70_000, messages.REQUEST_LIMIT])
async def test_a_line_that_is_too_long_is_answered_and_skipped(serve: Serve, path: Path, excess: int) -> None:
    await serve()
    answers = await raw(path, b"x" * (messages.REQUEST_LIMIT + 1 + excess) + b"\n" + messages.request("echo", {"a": 1}))
    assert [sorted(answer) for answer in answers] == [["error", "version"], ["result", "version"]]
    assert "at most" in answers[0]["error"]["message"]


async def test_half_a_line_gets_no_answer(serve: Serve, path: Path) -> None:
    await serve()
    assert await raw(path, messages.request("echo", {})[:-1]) == []


async def test_who_does_not_read_or_does_not_finish_keeps_nobody_waiting(serve: Serve, path: Path) -> None:
    async def much(call: Call) -> object:
        return "x" * (8 << 20)

    await serve(much=much)
    slow = []
    for data in (messages.request("much", {}), b'{"version":1', b""):
        reader, writer = await asyncio.open_unix_connection(path)
        reader._transport.pause_reading()  # type: ignore[attr-defined] # the reader would drain the socket by itself
        writer.write(data)
        slow.append(writer)
    assert await asyncio.wait_for(call(path, "echo", {"a": 1}), 60) == {"a": 1}
    for writer in slow:
        writer.transport.abort()


async def test_a_handler_that_takes_long_keeps_only_its_own_connection_waiting(serve: Serve, path: Path) -> None:
    release = asyncio.Event()

    async def wait(call: Call) -> object:
        await release.wait()
        return "done"

    await serve(wait=wait)
    waiting = asyncio.create_task(call(path, "wait"))
    assert await call(path, "echo", {}) == {}
    assert not waiting.done()
    release.set()
    assert await waiting == "done"


async def test_a_client_gives_up_at_its_time(serve: Serve, path: Path) -> None:
    async def never(call: Call) -> object:
        return await asyncio.Event().wait()

    await serve(never=never)
    with pytest.raises(AgentUnreachable, match=r"did not answer within 0\.01 s"):
        await call(path, "never", seconds=0.01)


async def test_a_handler_learns_that_its_peer_left_while_it_runs(serve: Serve, path: Path) -> None:
    entered, left = asyncio.Event(), asyncio.Event()
    seen: list[bool] = []

    async def handle(call: Call) -> object:
        seen.append(call.peer.lost)
        entered.set()
        await left.wait()
        await until(lambda: call.peer.lost)
        seen.append(call.peer.lost)
        return None

    server = await serve(handle=handle)
    connection = await Connection.open(path)
    calling = asyncio.create_task(connection.call("handle"))
    await entered.wait()
    calling.cancel()
    left.set()
    await asyncio.wait({calling})
    await until(lambda: len(seen) == 2)
    assert seen == [False, True]
    await server.close()


async def test_a_peer_can_be_waited_for_and_tells_its_process(serve: Serve, path: Path) -> None:
    ended: asyncio.Queue[int] = asyncio.Queue()
    tasks = set()

    async def watch(call: Call) -> object:
        async def wait() -> None:
            await call.peer.wait_lost()
            ended.put_nowait(call.peer.pid)

        tasks.add(asyncio.create_task(wait()))
        return None

    await serve(watch=watch)
    async with await Connection.open(path) as connection:
        await connection.call("watch")
        await connection.call("echo")
        assert ended.empty()
    assert await asyncio.wait_for(ended.get(), 60) == os.getpid()


async def test_the_socket_is_private(serve: Serve, path: Path) -> None:
    await serve()
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert names(path.parent) == [path.name]


async def test_a_stale_socket_and_a_half_made_one_are_replaced(serve: Serve, path: Path) -> None:
    path.parent.mkdir()
    for name in (path, path.with_name(path.name + ".new")):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(os.fspath(name))
    with pytest.raises(AgentUnreachable, match="no agent listens"):
        await call(path, "echo")
    await serve()
    assert await call(path, "echo", {}) == {}


async def test_a_newcomer_takes_the_name_while_connections_to_the_old_one_go_on(serve: Serve, path: Path) -> None:
    async def who(number: int) -> int:
        return number

    old = await serve(who=lambda _: who(1))
    async with await Connection.open(path) as connection:
        new = await serve(who=lambda _: who(2))
        assert await call(path, "who") == 2
        assert await connection.call("who") == 1
        await old.close()
        assert await call(path, "who") == 2
    await new.close()
    assert names(path.parent) == []


async def test_the_old_one_takes_its_name_back(serve: Serve, path: Path) -> None:
    async def who(number: int) -> int:
        return number

    old = await serve(who=lambda _: who(1))
    async with await Connection.open(path) as connection:
        await serve(who=lambda _: who(2))
        await old.publish()
        assert await call(path, "who") == 1
        assert await connection.call("who") == 1


async def test_a_closed_server_ends_its_connections_and_leaves_nothing(serve: Serve, path: Path) -> None:
    async def never(call: Call) -> object:
        return await asyncio.Event().wait()

    server = await serve(never=never)
    calling = asyncio.create_task(call(path, "never"))
    idle = await Connection.open(path)
    await idle.call("echo")
    await server.close()
    await server.close()
    with pytest.raises(AgentUnreachable, match=r"did not answer|ended before"):
        await calling
    assert names(path.parent) == []
    idle.close()


def test_a_path_that_no_socket_can_have_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / ("d" * 100) / "control.sock"
    with pytest.raises(sockets.SocketFault, match="longer than 107 bytes: set a shorter run folder"):
        sockets.listen(path)


@pytest.mark.parametrize("length", [107, 108])
def test_the_longest_path_is_used(tmp_path: Path, length: int) -> None:
    path = tmp_path / ("x" * (length - len(os.fspath(tmp_path)) - len("/.new")))
    if length > sockets.LONGEST:
        with pytest.raises(sockets.SocketFault):
            sockets.listen(path)
        return
    listening = sockets.listen(path)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(os.fspath(path))
    listening.socket.close()
    listening.unlink()
    assert not path.exists()


def test_a_folder_that_cannot_be_made_is_a_clear_fault(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("in the way")
    with pytest.raises(sockets.SocketFault, match=r"run/control\.sock cannot be made"):
        sockets.listen(tmp_path / "run" / "control.sock")


def test_the_command_line_says_that_no_agent_runs(tmp_path: Path) -> None:
    with pytest.raises(AgentUnreachable, match="is dragoman agent running"):
        call_now(tmp_path / "control.sock", "devices")
