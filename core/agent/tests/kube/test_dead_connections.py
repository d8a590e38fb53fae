"""A peer that vanished without a word is found out, by the kernel or by its silence, and one that speaks is kept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient
from dragoman.model.errors import Unavailable
from dragoman_testkit.sandbox.apiserver import ApiServer
from dragoman_testkit.sandbox.streams import listening

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
NOTICED_WITHIN = 90


def options(port: int, *wanted: tuple[int, int]) -> Iterator[list[int]]:
    """Give options, by level and name, of each socket of this process that is connected to a port."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if not str(descriptor.readlink()).startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(descriptor.name))) as found:
                if found.getpeername()[1:] == (port,):
                    yield [found.getsockopt(*option) for option in wanted]


async def test_a_watch_without_a_sign_of_its_peer_is_probed_and_given_up_by_the_kernel(
    server: ApiServer, client: KubeClient
) -> None:
    tcp = (socket.TCP_NODELAY, socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
    wanted = (socket.SOL_SOCKET, socket.SO_KEEPALIVE), *((socket.IPPROTO_TCP, name) for name in tcp)
    async with client.watch(SLICES, {"watch": "true"}, silence=900):
        await server.until(lambda: bool(server.requests))
        ((on, nodelay, idle, interval, count, unanswered),) = options(urlsplit(server.url).port or 0, *wanted)
    assert (on, nodelay) == (1, 1)
    assert idle + interval * count <= NOTICED_WITHIN
    # What was sent and not acknowledged is not probed for: the kernel would go on sending it for a quarter of an hour.
    assert 0 < unanswered <= NOTICED_WITHIN * 1000


async def test_bookmarks_keep_a_quiet_watch_alive_for_longer_than_it_may_be_silent() -> None:
    silence, now = 0.3, asyncio.get_running_loop().time
    spoken = [now()]

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            spoken.append(now())
            writer.write(b'{"type": "BOOKMARK", "object": {}}\n')
            spoken.append(now())
            await asyncio.sleep(0.02)

    seen: list[str] = []
    async with listening(speak) as port, KubeClient(Access(server=f"http://127.0.0.1:{port}")) as client:
        try:
            async with client.watch(SLICES, {"watch": "true"}, silence=silence) as events:
                stream = aiter(events)
                while spoken[-1] - spoken[0] < 2 * silence:
                    seen.append((await anext(stream)).type)
        except Unavailable:
            # Where the machine stood still nothing came: from before one bookmark was sent until after the next was.
            spoken += [now()] * 2
            assert max(later - earlier for earlier, later in zip(spoken, spoken[3:], strict=False)) >= silence
    assert set(seen) <= {"BOOKMARK"}
