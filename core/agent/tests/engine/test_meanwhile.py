"""What goes on beside something that waits: neither works with what it knew before."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engine.orphans import Orphans
from dragoman.engine.returning import LAST_DELAY
from dragoman.model.states import AllocationState
from dragoman_hookspecs import DeviceError
from dragoman_testkit.fakes.node import FakeNode

from .sandboxworld import BUDGET, prepared, run


async def half_freed(node: FakeNode) -> None:
    """Leave the claim ``a`` on its way out."""
    claim = await prepared(node)
    node.hooks.fail("free_device", DeviceError("busy"))
    assert await node.unprepare(claim) != ""


async def test_a_sweep_that_met_a_failed_free_does_not_free_what_was_prepared_meanwhile(node: FakeNode) -> None:
    await half_freed(node)
    claim = await node.source.read(node.ledger.allocations()[0].claim)
    hold = node.hooks.hold("free_device")
    preparing = asyncio.create_task(node.prepare(claim))
    await node.clock.settle()
    sweeper = Orphans(node.parts, node.claims, node.source, node.pod_resources, interval=60, grace=300)
    sweeping = asyncio.create_task(sweeper.sweep())
    await node.clock.settle()
    hold.set()
    assert (await preparing).error == ""
    await sweeping
    assert [row.state for row in node.ledger.allocations()] == [AllocationState.PREPARED]


async def test_a_sweep_of_a_claim_that_is_gone_does_not_free_it_when_it_came_back_meanwhile(node: FakeNode) -> None:
    claim = await prepared(node)
    sweeper = Orphans(node.parts, node.claims, node.source, node.pod_resources, interval=60, grace=0)
    node.source.delete(claim.ref)
    async with node.parts.locks.hold(claim.uid):
        sweeping = asyncio.create_task(sweeper.sweep())
        await node.clock.settle()
        asked = asyncio.create_task(node.unprepare(claim))
        await node.clock.settle()
    # The kubelet's own word counts, whatever the sweep finds.
    assert await asked == ""
    await sweeping
    assert not any((await node.left()).values())


@pytest.mark.parametrize("hook", ["container_edits", "write_metadata"])
async def test_files_of_a_claim_that_is_unprepared_while_they_are_written_do_not_stay(
    node: FakeNode, hook: str
) -> None:
    claim = await prepared(node)
    hold = node.hooks.hold(hook)
    attaching = asyncio.create_task(run(node, node.sandbox(claim)))
    await node.clock.settle()
    assert len(node.hooks.attached) == 1
    unpreparing = asyncio.create_task(node.unprepare(claim))
    await node.clock.settle()
    hold.set()
    await attaching
    assert await unpreparing == ""
    left = await node.left()
    assert not any(left.values()), left


async def test_recovery_waits_for_a_prepare_whose_caller_has_gone(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0", "dummy1")
    hold = node.hooks.hold("setup_device")
    preparing = asyncio.create_task(node.prepare(claim))
    await node.clock.settle()
    recovering = asyncio.create_task(node.recover())
    await node.clock.settle()
    hold.set()
    assert (await preparing).error == ""
    await recovering
    assert await node.unprepare(claim) == ""
    left = await node.left()
    assert not any(left.values()), left


async def test_a_prepare_that_waited_for_recovery_takes_the_claim_as_recovery_left_it(node: FakeNode) -> None:
    await half_freed(node)
    claim = await node.source.read(node.ledger.allocations()[0].claim)
    hold = node.hooks.hold("free_device")
    recovering = asyncio.create_task(node.recover())
    await node.clock.settle()
    preparing = asyncio.create_task(node.prepare(claim))
    await node.clock.settle()
    hold.set()
    await recovering
    assert (await preparing).error == ""
    assert [row.state for row in node.ledger.allocations()] == [AllocationState.PREPARED]


async def test_a_claim_that_was_unprepared_while_the_api_server_is_away_is_not_answered_as_prepared(
    node: FakeNode,
) -> None:
    claim = await prepared(node)
    node.source.away = True
    async with node.parts.managers.all_alone():
        unpreparing = asyncio.create_task(node.unprepare(claim))
        await node.clock.settle()
        preparing = asyncio.create_task(node.prepare(claim))
        await node.clock.settle()
    assert await unpreparing == ""
    assert "claim default/a was unprepared meanwhile" in (await preparing).error


async def test_a_fault_of_the_program_in_a_detach_does_not_end_the_attempts(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    node.hooks.fail("detach_device", OSError(24, "Too many open files"))
    stop = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.advance(BUDGET)
    await stop
    assert node.hooks.attached == {}


async def test_a_device_that_does_not_come_back_is_tried_by_one_however_often_its_end_is_told(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    node.hooks.fail("detach_device", DeviceError("busy"), times=1000)
    for _ in range(4):
        stop = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
        await node.clock.advance(BUDGET)
        await stop
        await node.sandboxes.synchronize([])
    await node.clock.advance(60)
    before = len(node.hooks.called("detach_device"))
    await node.clock.advance(100)
    assert len(node.hooks.called("detach_device")) - before == 100 / LAST_DELAY
    await node.sandboxes.drain()
