from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
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


@pytest.fixture
def link_kind() -> Iterator[str]:
    """A network namespace that is the host's for this test, with an uplink; the kind of link for the dummy manager."""
    with netns.private_host():
        with Netlink() as host:
            host.set_link(1, up=True)  # lo: the API server listens there
        yield kernel.furnish((UPLINK,))


@pytest_asyncio.fixture(loop_scope="session")
async def make_trial(link_kind: str) -> AsyncIterator[MakeTrial]:
    """Make a node; several for one test would share its links."""
    # Threads stay in the namespace in which they were started, which is another one for each test.
    loop = asyncio.get_running_loop()
    loop.set_default_executor(executor := ThreadPoolExecutor())
    async with AsyncExitStack() as stack:
        yield trials(stack, link_kind)
    executor.shutdown()
    loop.set_default_executor(ThreadPoolExecutor())


@pytest_asyncio.fixture(loop_scope="session")
async def trial(make_trial: MakeTrial) -> Trial:
    """A node with four dummy devices and a started agent."""
    trial = await make_trial()
    await trial.start()
    return trial
