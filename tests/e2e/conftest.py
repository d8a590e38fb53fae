from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from dragoman.kubelet.environment import prepare_environment
from dragoman_kit.netlink import Netlink
from dragoman_testkit import netns
from dragoman_testkit.sandbox import kernel
from tests.e2e.trial import UPLINK, MakeTrial, Trial, trials

prepare_environment()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run this folder's tests in one loop, as the agent does: gRPC delivers late events of a loop that has ended."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.kernel)
            if item.get_closest_marker("asyncio"):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@asynccontextmanager
async def workplace() -> AsyncIterator[MakeTrial]:
    """Make nodes in a network namespace that is the host's as long as this lasts."""
    loop = asyncio.get_running_loop()
    with netns.private_host():
        with Netlink() as host:
            host.set_link(1, up=True)  # lo: the API server listens there
        # Threads stay in the namespace in which they were started.
        loop.set_default_executor(executor := ThreadPoolExecutor())
        async with AsyncExitStack() as stack:
            yield trials(stack, kernel.furnish((UPLINK,)))
        loop.set_default_executor(ThreadPoolExecutor())
        executor.shutdown()


@pytest_asyncio.fixture(loop_scope="session")
async def make_trial() -> AsyncIterator[MakeTrial]:
    """Make nodes that belong to one test."""
    async with workplace() as make:
        yield make


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def shared() -> AsyncIterator[Trial]:
    """A node with a started agent for the tests of a module: dummy devices, a shared uplink, a scripted manager."""
    async with workplace() as make:
        trial = await make()
        trial.offer_uplink()
        trial.script("odd")
        await trial.start()
        yield trial


@pytest_asyncio.fixture(loop_scope="session")
async def trial(shared: Trial) -> AsyncIterator[Trial]:
    """The shared node for one test, which has to leave nothing behind."""
    slices = shared.published()
    yield shared
    await shared.clean()
    assert shared.published() == slices
