"""How soon a follower asks again, by what it was answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient
from dragoman.kube.follow import LONGEST_AWAY, Follower, Position
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.streams import listening

PAGE = "<html><body><h1>503 Service Unavailable</h1>No server is available to handle this request.</body></html>"
BUSY = '{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Timeout", "code": 504}'


@contextlib.asynccontextmanager
async def answering(status: int, body: str) -> AsyncIterator[str]:
    """Answer every request so; gives the URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    async with listening(answer) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("status", "body", "soon"),
    [(502, PAGE, True), (503, PAGE, True), (504, PAGE, True), (503, "", True), (500, PAGE, False), (504, BUSY, False)],
)
async def test_a_balancer_without_a_server_is_asked_again_as_soon_as_nobody_and_a_busy_server_later(
    status: int, body: str, soon: bool, clock: VirtualClock
) -> None:
    waits: list[float] = []
    async with answering(status, body) as url, KubeClient(Access(server=url)) as client, asyncio.timeout(60):
        answered = clock.monotonic()

        async def position() -> Position:
            nonlocal answered
            waits.append(clock.monotonic() - answered)
            try:
                await client.get("/version")
            finally:
                # Some time of the test passes while a real request is under way; it is not part of a wait.
                answered = clock.monotonic()
            raise AssertionError("it does not answer")

        follower = Follower(client, clock, "it", position=position, take=lambda _event: None, silence=60.0)
        following = asyncio.create_task(follower.run())
        while len(waits) < 9:
            await (clock.advance(1) if clock.pending() else clock.settle())
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
    assert (waits[-1] <= LONGEST_AWAY) is soon
