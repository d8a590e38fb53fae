"""Sandboxes that stop, claims that are unprepared and agents that end: each device comes back once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from dragoman.model.states import AttachmentState
from dragoman_hookspecs import DeviceError
from dragoman_testkit.fakes.node import FakeNode

from .sandboxworld import BUDGET, prepared, run


async def test_stop_closes_the_guard_first_then_brings_the_device_back(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    hold = node.hooks.hold("detach_device")
    call = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    assert await node.guards() == []
    (attachment,) = node.ledger.attachments()
    assert attachment.state is AttachmentState.DETACHING
    hold.set()
    await call
    assert node.ledger.attachments() == []
    assert node.hooks.attached == {}
    assert len(node.ledger.allocations()) == 1  # still prepared, for a new sandbox of the pod


async def test_stop_called_three_times_and_remove_without_stop_do_no_harm(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    for _ in range(3):
        await node.sandboxes.stop_sandbox(sandbox, BUDGET)
    await run(node, sandbox)
    await node.sandboxes.remove_sandbox(sandbox, BUDGET)
    assert node.hooks.attached == {}


@pytest.mark.parametrize(
    ("dies", "told"),
    [
        (False, "device dummy0 of claim default/a is detached from its pod"),
        (True, "device dummy0 of claim default/a is detached after its network namespace had ended"),
    ],
)
async def test_of_a_device_whose_namespace_ended_nobody_says_that_it_is_on_the_host(
    node: FakeNode, dies: bool, told: str
) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    assert sandbox.netns_path is not None
    if dies:
        node.links.remove_namespace(sandbox.netns_path)
    lines: list[str] = []
    sink = logger.add(lambda message: lines.append(message.record["message"]), level="INFO")
    await node.sandboxes.stop_sandbox(sandbox, BUDGET)
    logger.remove(sink)
    assert lines == [told]


async def test_devices_of_a_pod_that_stops_do_not_wait_for_each_other(node: FakeNode) -> None:
    claim = await prepared(node, "a", "dummy0", "dummy1")
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    node.hooks.fail("detach_device", DeviceError("busy"), device="dummy1", times=2)
    stop = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    assert [row.key.allocation.device for row in node.ledger.attachments()] == ["dummy1"]
    assert "busy" in node.ledger.attachments()[0].failure
    await node.clock.advance(2)
    await stop
    assert node.ledger.attachments() == []


async def test_unprepare_ends_an_attachment_whose_stop_never_came(node: FakeNode) -> None:
    claim = await prepared(node)
    await run(node, node.sandbox(claim))
    assert await node.unprepare(claim) == ""
    left = await node.left()
    assert not any(left.values()), left


async def test_unprepare_waits_for_an_attach_in_progress_and_undoes_it(node: FakeNode) -> None:
    claim = await prepared(node)
    hold = node.hooks.hold("attach_device")
    run_call = asyncio.create_task(node.sandboxes.run_sandbox(node.sandbox(claim), BUDGET))
    await node.clock.settle()
    unprepare = asyncio.create_task(node.unprepare(claim))
    await node.clock.settle()
    hold.set()
    assert await unprepare == ""
    await run_call
    await node.clock.settle()
    left = await node.left()
    assert not any(left.values()), left


async def test_a_sandbox_that_stops_while_it_is_attached_keeps_nothing(node: FakeNode) -> None:
    claim = await prepared(node, "a", "dummy0", "dummy1")
    hold = node.hooks.hold("attach_device")
    sandbox = node.sandbox(claim)
    running = asyncio.create_task(node.sandboxes.run_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    stopping = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    hold.set()
    await asyncio.gather(running, stopping)
    await node.clock.settle()
    assert node.hooks.attached == {}
    assert node.ledger.attachments() == []
    assert await node.guards() == []
    assert node.hooks.called("attach_device") == ["dummy0"]  # the second was not begun any more


async def test_what_a_slow_detach_answers_is_kept_although_unprepare_came_meanwhile(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    seen: list[Any] = []
    node.hooks.fakes["dummy"].answers["detach_device"] = lambda record, netns: {"detached": True}
    node.hooks.fakes["dummy"].answers["free_device"] = lambda record: seen.append(record.prepared.state)
    hold = node.hooks.hold("detach_device")
    stop = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    unprepare = asyncio.create_task(node.unprepare(claim))
    await node.clock.settle()
    hold.set()
    await stop
    assert await unprepare == ""
    assert (node.hooks.called("detach_device"), seen) == (["dummy0"], [{"detached": True}])


async def test_a_device_comes_back_once_its_guard_can_be_closed(node: FakeNode, tmp_path: Path) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    folder = tmp_path / "cdi"
    folder.rename(tmp_path / "away")
    folder.touch()
    stop = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    assert len(node.hooks.attached) == 1  # the guard first
    folder.unlink()
    await node.clock.advance(BUDGET)
    await stop
    assert node.hooks.attached == {}


async def test_an_agent_ends_although_a_device_cannot_be_brought_back_and_the_next_one_goes_on(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    node.hooks.fail("detach_device", DeviceError("busy"), times=6)
    stop = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.advance(BUDGET)
    await stop
    draining = asyncio.create_task(node.sandboxes.drain())
    await node.clock.settle()
    assert draining.done()
    assert [row.state for row in node.ledger.attachments()] == [AttachmentState.DETACHING]
    node = node.restart()
    await node.recover()
    assert len(node.ledger.attachments()) == 1  # its namespace is still there, and the device still busy
    await node.sandboxes.synchronize([])
    await node.clock.advance(10)
    assert node.ledger.attachments() == []
    assert node.hooks.attached == {}


async def test_an_agent_that_ends_waits_for_the_attach_of_a_sandbox_that_was_stopped(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    hold = node.hooks.hold("attach_device")
    running = asyncio.create_task(node.sandboxes.run_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    stopping = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    draining = asyncio.create_task(node.sandboxes.drain())
    await node.clock.settle()
    assert not draining.done()
    hold.set()
    await asyncio.gather(running, stopping, draining)
    assert (node.hooks.attached, node.ledger.attachments()) == ({}, [])


async def test_an_agent_that_hands_over_leaves_devices_in_their_pods(node: FakeNode) -> None:
    claim = await prepared(node)
    hold = node.hooks.hold("attach_device")
    running = asyncio.create_task(node.sandboxes.run_sandbox(node.sandbox(claim), BUDGET))
    await node.clock.settle()
    draining = asyncio.create_task(node.sandboxes.drain())
    await node.clock.settle()
    hold.set()
    await asyncio.gather(running, draining)
    assert len(node.hooks.attached) == 1
