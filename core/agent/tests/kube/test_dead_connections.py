"""A peer that vanished without a word is found out by the kernel: no byte has to be waited for."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from dragoman.kube.client import KubeClient
from dragoman_testkit.sandbox.apiserver import ApiServer

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
