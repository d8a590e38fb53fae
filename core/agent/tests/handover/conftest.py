from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman_testkit.fakes.clock import VirtualClock

from .twoagents import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path, VirtualClock())
    yield world
    for agent in world.agents:
        agent.node.hangs, agent.node.left_behind = "", []
        await agent.handover.stop()
