"""Lives of the agent whose ledger was lost, and claims that a former life prepared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dragoman.engine.reporting import SETTLE
from dragoman.model.claims import Claim
from dragoman.model.records import AllocationRow
from dragoman.model.sandboxes import Sandbox
from dragoman_testkit.fakes.node import FakeNode


@asynccontextmanager
async def telling(node: FakeNode) -> AsyncIterator[None]:
    """Claim status is written while the block runs."""
    reporting = asyncio.create_task(node.reporting.run())
    try:
        yield
        await node.clock.advance(SETTLE)
    finally:
        reporting.cancel()


async def prepared(node: FakeNode, name: str = "a", *device: str, **changes: Any) -> Claim:
    """Prepare a claim, and have its status written."""
    claim = node.claim(name, *(device or ("dummy0",)), **changes)
    async with telling(node):
        assert (await node.prepare(claim)).error == ""
    return claim


async def attached(node: FakeNode, claim: Claim, pod: str = "pod") -> Sandbox:
    """Attach the devices of a claim, also in the memory of links."""
    sandbox = node.sandbox(claim, pod)
    await node.sandboxes.run_sandbox(sandbox, 1)
    assert sandbox.netns_path is not None
    for row in node.ledger.of_claim(claim.uid):
        node.links.put_inside(sandbox.netns_path, "net1", row.device.identity)
    return sandbox


async def begin(node: FakeNode, *sandboxes: Sandbox) -> asyncio.Task[None]:
    """Start as the agent does: recovery, then the runtime tells its sandboxes, then the rebuild in the background."""
    await node.recover()
    await node.sandboxes.synchronize(sandboxes)
    task = asyncio.create_task(node.rebuilding.run())
    await node.clock.settle()
    return task


async def lost(node: FakeNode, *sandboxes: Sandbox, boot: str = "b1", gone: bool = False) -> FakeNode:
    """Begin a life without the ledger (``gone``: without a file of it), and let it rebuild."""
    node = node.restart(boot, lost=not gone, gone=gone)
    assert node.ledger.rebuilt
    task = await begin(node, *sandboxes)
    assert task.done(), node.rebuilding.reason
    assert (node.ledger.rebuilt, node.rebuilding.reason) == (False, "")
    return node


def rows(node: FakeNode) -> list[AllocationRow]:
    return list(node.ledger.allocations())


async def is_empty(node: FakeNode) -> bool:
    return not any((await node.left()).values())
