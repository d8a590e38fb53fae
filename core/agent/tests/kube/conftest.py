from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient
from dragoman.kube.slices import SlicePublisher
from dragoman.kube.versions import Versions
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

DRIVER, NODE = "net.dragoman.dev", "n1"


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as running:
        yield running


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[KubeClient]:
    async with KubeClient(Access(server=server.url)) as connected:
        yield connected


@pytest.fixture
def versions(client: KubeClient) -> Versions:
    return Versions(client)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def finish(clock: VirtualClock) -> Callable[[Awaitable[Any]], Awaitable[Any]]:
    """Awaits something real. Virtual time passes while somebody sleeps, and not during a request, however slow."""

    async def run(awaitable: Awaitable[Any]) -> Any:
        task = asyncio.ensure_future(awaitable)
        while not task.done():
            await (clock.advance(0.1) if clock.pending() else clock.settle())
        return await task

    return run


@pytest.fixture
async def publisher(client: KubeClient, versions: Versions, clock: VirtualClock) -> AsyncIterator[SlicePublisher]:
    made = SlicePublisher(client, versions, clock, driver=DRIVER, node=NODE)
    yield made
    await made.aclose()
