"""Calls that have passed their limit and may still do something: who is to wait for them learns their names."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.hooks import PluginTimeout

SETUP = "setup_device for device dev0 of claim ns/claim (uid-1)"


async def test_a_call_that_changes_a_device_is_named_until_it_returns(
    make: Any, gate: Any, alloc: Any, record: Any
) -> None:
    node = make(dummy="plain", other="plain", setup_device=0.05)
    node.script("dummy", "setup_device", gate)
    assert node.hooks.unfinished() == []
    with pytest.raises(PluginTimeout):
        await node.hooks.setup_device("dummy", alloc("dev0"), {})
    assert node.hooks.unfinished() == [SETUP]
    await node.hooks.stop()
    assert node.hooks.unfinished() == [SETUP]
    gate.open()
    await node.hooks.free_device("dummy", record("dev0"))
    assert node.hooks.unfinished() == []


async def test_a_call_that_only_reads_is_not_waited_for(make: Any, gate: Any, alloc: Any) -> None:
    node = make(dummy="full", concurrent=2, plan_device=0.05, discover_devices=0.05)
    for hook in ("plan_device", "discover_devices"):
        node.script("dummy", hook, gate)
    with pytest.raises(PluginTimeout):
        await node.hooks.plan_device("dummy", alloc("dev0"))
    with pytest.raises(PluginTimeout):
        await node.hooks.discover_devices("dummy")
    (status,) = node.hooks.statuses()
    assert "plan_device" in status.reason
    assert node.hooks.unfinished() == []
