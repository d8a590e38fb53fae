"""Failures that other drivers met in the field, on the engine: each test is named after what must hold instead."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from loguru import logger

from dragoman.model.errors import Unavailable
from dragoman_hookspecs import DeviceError, Inventory
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.fakes.node import FakeNode, devices

BUDGET = 1.5


@pytest.fixture
def node(tmp_path: Path) -> Iterator[FakeNode]:
    with closing(FakeNode(tmp_path)) as made:
        yield made


@pytest.fixture
def told() -> Iterator[list[str]]:
    """What the log tells, warnings and worse."""
    lines: list[str] = []
    sink = logger.add(lines.append, level="WARNING", format="{message}")
    yield lines
    logger.remove(sink)


async def test_a_device_that_was_destroyed_does_not_stand_in_the_way_of_the_next_claim(node: FakeNode) -> None:
    first = node.claim("first", "dummy0")
    assert (await node.prepare(first)).error == ""
    node.hooks.fakes["dummy"].inventory = Inventory(devices=devices("dummy1", "dummy2"))
    second = node.claim("second", "dummy1")
    assert [device.device for device in (await node.prepare(second)).devices] == ["dummy1"]


async def test_an_error_names_the_device_and_the_claim_that_it_is_about(node: FakeNode) -> None:
    await node.prepare(node.claim("first", "dummy0"))
    node.hooks.fail("setup_device", DeviceError("link dummy1 cannot be made"), device="dummy1")
    error = (await node.prepare(node.claim("second", "dummy1"))).error
    assert "dummy1" in error
    assert "dummy0" not in error
    gone = (await node.prepare(node.claim("third", "dummy7"))).error
    assert "dummy7" in gone
    assert "default/third" in gone


async def test_a_stop_whose_namespace_is_gone_brings_every_device_back_without_it(
    node: FakeNode, told: list[str]
) -> None:
    claim = node.claim("a", "dummy0", "dummy1")
    await node.prepare(claim)
    sandbox = node.sandbox(claim)
    await node.sandboxes.run_sandbox(sandbox, BUDGET)
    assert len(node.ledger.attachments()) == 2
    assert sandbox.netns_path is not None
    node.links.remove_namespace(sandbox.netns_path)
    node.hooks.fail("detach_device", DeviceError("bad handle"), device="dummy1")
    stop = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.advance(BUDGET)
    await stop
    assert (node.ledger.attachments(), node.hooks.attached, await node.guards()) == ([], {}, [])
    assert len(told) == 1
    assert "bad handle" in told[0]


async def test_a_status_that_cannot_be_written_costs_no_device_and_is_written_later(node: FakeNode) -> None:
    node.status.errors = [Unavailable("internal error (500)")] * 2
    writing = asyncio.create_task(node.reporting.run())
    claim = node.claim("a", "dummy0", "dummy1")
    answer = await node.prepare(claim)
    await node.clock.advance(1)
    assert ([device.device for device in answer.devices], answer.error) == (["dummy0", "dummy1"], "")
    assert len(node.hooks.set_up) == 2
    await _until_written(node, claim.uid, node.clock)
    writing.cancel()


async def _until_written(node: FakeNode, uid: str, clock: VirtualClock) -> None:
    for _ in range(60):
        await clock.advance(1)
        if node.status.last(uid) is not None:
            return
    pytest.fail("the status was never written")


async def test_a_claim_whose_prepare_failed_is_given_back_at_once(node: FakeNode) -> None:
    node.hooks.fail("setup_device", DeviceError("wrong mode"), times=9)
    claim = node.claim("a", "dummy0")
    assert "wrong mode" in (await node.prepare(claim)).error
    reads = node.source.reads
    assert await node.unprepare(claim) == ""
    assert node.source.reads == reads
    assert not any((await node.left()).values())
