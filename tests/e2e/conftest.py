from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from dragoman.kubelet.environment import prepare_environment
from tests.e2e.trial import MakeTrial, Trial
from tests.e2e.workplace import workplace

prepare_environment()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run this folder's tests in one loop, as the agent does: gRPC delivers late events of a loop that has ended."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.kernel)
            if item.get_closest_marker("asyncio"):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


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
