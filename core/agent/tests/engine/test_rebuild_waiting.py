"""A new life of the agent whose ledger was lost: what waits until all is known again, and what does not."""

from __future__ import annotations

import asyncio

from dragoman.engine.rebuild import RUNTIME_WITHIN
from dragoman_testkit.fakes.node import FakeNode

from .rebuildworld import attached, begin, is_empty, prepared, rows


async def test_while_the_api_server_is_away_nothing_unknown_is_touched_and_former_claims_wait(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = await attached(node, claim)
    files = await node.cdi.present()
    node.source.away = True
    node = node.restart(lost=True)
    task = await begin(node, sandbox)
    assert not task.done()
    assert "API server does not answer" in node.rebuilding.reason
    assert node.hooks.called("recover_devices") == []
    assert await node.cdi.present() == files

    unprepare = asyncio.create_task(node.unprepare(claim))
    await node.clock.advance(60)
    assert "ledger is still being rebuilt" in unprepare.result()
    assert len(node.hooks.set_up) == 1

    again = asyncio.create_task(node.unprepare(claim))
    node.source.away = False
    await node.clock.advance(30)
    assert task.done()
    assert again.result() == ""
    assert await is_empty(node)


async def test_a_prepare_of_a_former_claim_waits_and_sets_nothing_up_again(node: FakeNode) -> None:
    claim = await prepared(node)
    answer = await node.prepare(claim)
    node.source.unreadable = {"a"}
    node = node.restart(lost=True)
    task = await begin(node)
    again = asyncio.create_task(node.prepare(claim))
    await node.clock.settle()
    assert not again.done()
    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert again.result() == answer
    assert node.hooks.called("setup_device") == ["dummy0"]


async def test_new_claims_are_served_while_a_former_one_cannot_be_read(node: FakeNode) -> None:
    former, other = await prepared(node, "former"), await prepared(node, "other", "dummy1")
    node.source.unreadable = {"former"}
    node = node.restart(lost=True)
    task = await begin(node)
    assert "claim default/former cannot be read" in node.rebuilding.reason
    new = node.claim("new", "dummy2")
    assert (await node.prepare(new)).error == ""
    assert {row.claim.name for row in rows(node)} == {"other", "new"}
    assert await node.unprepare(other) == ""
    assert await node.unprepare(new) == ""
    # Nobody was told that the records are complete: a manager would delete what it made for the former claim.
    assert node.hooks.called("recover_devices") == []
    assert node.hooks.set_up == {("dummy", "dummy0", "")}

    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert [row.claim.name for row in rows(node)] == ["former"]
    assert node.hooks.called("recover_devices") == ["dummy0"]
    assert await node.unprepare(former) == ""
    assert await is_empty(node)


async def test_a_device_that_is_being_set_up_is_not_taken_for_unclaimed(node: FakeNode) -> None:
    await prepared(node, "former")
    node = node.restart(lost=True)
    await node.recover()
    await node.sandboxes.synchronize([])
    hold = node.hooks.hold("setup_device")
    new = node.claim("new", "dummy1")
    call = asyncio.create_task(node.prepare(new))
    await node.clock.settle()
    task = asyncio.create_task(node.rebuilding.run())
    await node.clock.settle()
    assert node.hooks.called("recover_devices") == []
    hold.set()
    await node.clock.settle()
    assert (await call).error == ""
    assert task.done()
    assert node.hooks.called("recover_devices") == ["dummy0,dummy1"]


async def test_nothing_is_set_up_while_managers_look_for_what_is_unclaimed(node: FakeNode) -> None:
    await prepared(node, "former")
    hold = node.hooks.hold("recover_devices")
    node = node.restart(lost=True)
    task = await begin(node)
    assert node.hooks.called("recover_devices") == ["dummy0"]
    call = asyncio.create_task(node.prepare(node.claim("new", "dummy1")))
    await node.clock.settle()
    assert node.hooks.called("setup_device") == ["dummy0"]
    hold.set()
    assert (await call).error == ""
    assert task.done()


async def test_a_runtime_that_tells_nothing_does_not_hold_the_rebuild_for_ever(node: FakeNode) -> None:
    await prepared(node)
    node = node.restart(lost=True)
    await node.recover()
    task = asyncio.create_task(node.rebuilding.run())
    await node.clock.advance(RUNTIME_WITHIN - 1)
    assert rows(node) == []
    await node.clock.advance(1)
    assert task.done()
    assert len(rows(node)) == 1
