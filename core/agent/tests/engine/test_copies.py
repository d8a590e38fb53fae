"""A plugin that changes in place what it is given: the ledger holds what was recorded, and learns what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_hookspecs import Allocation, Attached, JsonObject, Netns, Prepared, Record
from dragoman_testkit.fakes.hooks import FakeManager
from dragoman_testkit.fakes.node import FakeNode

from .sandboxworld import BUDGET, prepared, run


@pytest.fixture
def manager(node: FakeNode) -> FakeManager:
    return node.hooks.fakes["dummy"]


async def test_a_plan_that_setup_uses_up_is_there_for_free(node: FakeNode, manager: FakeManager) -> None:
    former: JsonObject = {"link": "dummy0", "former": {"mtu": 1500}}
    seen: list[JsonObject] = []

    def setup(_allocation: Allocation, plan: JsonObject) -> Prepared:
        plan["former"].clear()
        former.clear()
        return Prepared(state={"mtu": plan.pop("link")})

    def free(record: Record) -> None:
        seen.append(dict(record.plan))
        record.plan.clear()

    manager.answers |= {"plan_device": lambda _: former, "setup_device": setup, "free_device": free}
    claim = await prepared(node)
    assert [row.plan for row in node.restart().ledger.allocations()] == [{"link": "dummy0", "former": {"mtu": 1500}}]
    node = node.restart()
    assert await node.unprepare(claim) == ""
    assert seen == [{"link": "dummy0", "former": {"mtu": 1500}}]


async def test_a_state_that_detach_changes_in_place_is_recorded(node: FakeNode, manager: FakeManager) -> None:
    def detach(record: Record, _netns: Netns | None) -> Any:
        assert record.prepared is not None
        record.prepared.state["times"] = record.prepared.state.get("times", 0) + 1
        return record.prepared.state

    manager.answers["detach_device"] = detach
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    await node.sandboxes.stop_sandbox(sandbox, BUDGET)
    (row,) = node.restart().ledger.allocations()
    assert row.prepared is not None
    assert row.prepared.state == {"link": "dummy0", "times": 1}


async def test_a_snapshot_that_attach_takes_apart_is_there_for_the_way_back(
    node: FakeNode, manager: FakeManager
) -> None:
    seen: list[JsonObject] = []

    def attach(record: Record, _netns: Netns) -> Attached:
        assert record.snapshot is not None
        record.snapshot.clear()
        return Attached(interface="net1")

    def detach(record: Record, _netns: Netns | None) -> JsonObject:
        seen.append(dict(record.snapshot or {}))
        return {}

    manager.answers |= {"attach_device": attach, "detach_device": detach}
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    await node.sandboxes.stop_sandbox(sandbox, BUDGET)
    assert seen == [{"name": "dummy0", "identity": "tag:dummy0"}]
