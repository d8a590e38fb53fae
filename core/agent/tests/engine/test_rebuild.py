"""A new life of the agent whose ledger was lost: what it knows again of the claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dragoman.model.claims import AllocationResult, StatusEntry
from dragoman.model.states import AllocationState
from dragoman_hookspecs import Inventory
from dragoman_testkit.fakes.hooks import FakeManager
from dragoman_testkit.fakes.node import DRIVER, POOL, FakeNode, devices, opaque, pod_consumer

from .rebuildworld import begin, is_empty, lost, prepared, rows

SHARE = "aaaaaaaa-0000-0000-0000-000000000000"


async def test_all_that_was_prepared_is_known_again_as_it_was(node_of: Callable[..., FakeNode]) -> None:
    shared = FakeManager(type="shared", inventory=Inventory(devices=devices("wide0", shareable=True)))
    plain = FakeManager(inventory=Inventory(devices=devices("dummy0", "dummy1", "dummy2")))
    node = node_of(plain, shared)
    await prepared(node, "two", "dummy0", "dummy1", config=(opaque({"podIfName": "net1", "mtu": 1400}, "net"),))
    await prepared(node, "share", f"wide0@{SHARE}", pod_claim_name=None, pods=("one", "two"))
    await prepared(node, "group", "dummy2", reserved_for=(replace(pod_consumer("g"), resource="podgroups"),))
    watching = AllocationResult(request="w", driver=DRIVER, pool=POOL, device="dummy0", admin_access=True)
    await prepared(node, "admin", results=(watching,))
    before = rows(node)
    assert len(before) == 5
    node = await lost(node)
    assert rows(node) == before


async def test_a_claim_that_is_known_again_is_answered_as_before_and_freed_when_asked(node: FakeNode) -> None:
    claim = await prepared(node)
    answer = await node.prepare(claim)
    node = await lost(node)
    assert await node.prepare(claim) == answer
    assert node.hooks.called("setup_device") == ["dummy0"]
    assert await node.unprepare(claim) == ""
    assert await is_empty(node)


async def test_a_ledger_whose_file_is_gone_is_rebuilt_too(node: FakeNode) -> None:
    claim = await prepared(node)
    before = rows(node)
    node = await lost(node, gone=True)
    assert rows(node) == before
    assert await node.unprepare(claim) == ""
    assert await is_empty(node)


async def test_a_node_on_which_nothing_is_prepared_has_a_new_ledger(node: FakeNode) -> None:
    claim = await prepared(node)
    assert await node.unprepare(claim) == ""
    assert not node.restart(gone=True).ledger.rebuilt


async def test_an_unfinished_rebuild_goes_on_in_the_next_life(node: FakeNode) -> None:
    await prepared(node, "former")
    await prepared(node, "other", "dummy1")
    node.source.unreadable = {"former"}
    node = node.restart(lost=True)
    (await begin(node)).cancel()
    node = node.restart()
    assert node.ledger.rebuilt
    task = await begin(node)
    # Those that are known are looked after, without the word that they are all.
    assert node.hooks.called("recover_devices") == ["dummy1"]
    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert {row.claim.name for row in rows(node)} == {"former", "other"}


async def test_what_a_life_unprepared_does_not_rise_from_old_news(node: FakeNode) -> None:
    claim = await prepared(node)
    node.source.unreadable = {"a"}
    await prepared(node, "other", "dummy1")
    node = node.restart(lost=True)
    task = await begin(node)
    other = (await node.source.of_node()).claims[0]
    assert [await node.unprepare(other), await node.unprepare(other)] == ["", ""]
    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert [row.claim.uid for row in rows(node)] == [claim.uid]


async def test_a_claim_whose_status_was_never_written_is_left_to_the_kubelet(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node = await lost(node)
    assert rows(node) == []
    # Now managers hear that nobody holds the device.
    assert node.hooks.called("recover_devices") == [""]
    assert (await node.prepare(claim)).error == ""
    assert await node.unprepare(claim) == ""
    assert await is_empty(node)


@pytest.mark.parametrize("data", [{"apiVersion": "status.dragoman.dev/v9"}, {}, [], "text"])
async def test_an_entry_that_cannot_be_understood_costs_its_device_only(node: FakeNode, data: object) -> None:
    bad = await prepared(node, "bad")
    await prepared(node, "good", "dummy1")
    entry = StatusEntry(driver=DRIVER, pool=POOL, device="dummy0", data=data)
    node.source.put(replace(bad, entries=(entry,)))
    node = await lost(node)
    assert [row.claim.name for row in rows(node)] == ["good"]


async def test_claims_of_a_plugin_that_is_gone_are_known_again_too(node: FakeNode) -> None:
    claim = await prepared(node)
    fake = node.hooks.fakes.pop("dummy")
    node = await lost(node)
    assert [row.key.device for row in rows(node)] == ["dummy0"]
    assert "dragoman-dummy 1.0" in await node.unprepare(claim)
    node.hooks.fakes["dummy"] = fake


async def test_a_ledger_that_was_not_lost_is_not_rebuilt(node: FakeNode) -> None:
    await prepared(node)
    await node.rebuilding.run()
    await node.rebuilding.done()
    assert [row.state for row in rows(node)] == [AllocationState.PREPARED]
