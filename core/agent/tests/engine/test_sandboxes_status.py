"""What the status of a claim tells of its sandboxes."""

import asyncio

from dragoman.engine.reporting import SETTLE
from dragoman_testkit.fakes.node import FakeNode

from .sandboxworld import BUDGET, prepared, run


async def test_a_pod_that_starts_at_once_takes_one_status_for_prepared_and_attached(node: FakeNode) -> None:
    reporting = asyncio.create_task(node.reporting.run())
    await run(node, node.sandbox(await prepared(node)))
    await node.clock.advance(SETTLE)
    (status,) = node.status.writes
    assert [(c.type, c.status) for c in status.devices[0].conditions] == [("Ready", "True"), ("NetworkReady", "True")]
    reporting.cancel()


async def test_status_tells_prepared_then_attached_then_returned(node: FakeNode) -> None:
    reporting = asyncio.create_task(node.reporting.run())
    claim = await prepared(node)
    await node.clock.advance(SETTLE)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    await node.clock.advance(SETTLE)
    await node.sandboxes.stop_sandbox(sandbox, BUDGET)
    await node.clock.advance(30)
    seen = [
        [(c.type, c.status, c.reason) for c in status.devices[0].conditions if c.type == "NetworkReady"]
        for status in node.status.writes
    ]
    assert seen == [
        [("NetworkReady", "False", "NotAttached")],
        [("NetworkReady", "True", "Attached")],
        [("NetworkReady", "False", "NotAttached")],
    ]
    reporting.cancel()


async def test_nothing_is_written_on_the_way_out(node: FakeNode) -> None:
    reporting = asyncio.create_task(node.reporting.run())
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    await node.clock.advance(SETTLE)
    before, reads = len(node.status.writes), node.source.reads
    await node.sandboxes.stop_sandbox(sandbox, BUDGET)
    await node.unprepare(claim)
    await node.clock.advance(60)
    assert (len(node.status.writes), node.source.reads) == (before, reads)
    assert node.reporting.pending == 0
    reporting.cancel()
