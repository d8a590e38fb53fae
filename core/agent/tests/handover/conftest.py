from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman_testkit.fakes.clock import VirtualClock

from .processes import Agents
from .twoagents import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path, VirtualClock())
    yield world
    for agent in world.agents:
        agent.node.hangs, agent.node.left_behind = "", []
        await agent.handover.stop()


@pytest.fixture
async def agents(tmp_path: Path) -> AsyncIterator[Agents]:
    agents = Agents(tmp_path)
    yield agents
    for process in agents.started:
        if process.returncode is None:
            process.kill()
        await process.communicate()
