"""Claims that are prepared, and a runtime that runs their sandboxes."""

import asyncio
from typing import Any

from dragoman.model.claims import Claim
from dragoman.model.sandboxes import Container, Sandbox
from dragoman_testkit.fakes.node import FakeNode

BUDGET = 1.5


async def prepared(node: FakeNode, name: str = "a", *devices: str, **changes: Any) -> Claim:
    claim = node.claim(name, *(devices or ("dummy0",)), **changes)
    assert (await node.prepare(claim)).error == ""
    return claim


async def run(node: FakeNode, sandbox: Sandbox) -> None:
    """Run the sandbox as the runtime does, passing its budget where the engine needs it."""
    call = asyncio.create_task(node.sandboxes.run_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    if not call.done():
        await node.clock.advance(BUDGET)
    await call


async def gate(node: FakeNode, sandbox: Sandbox) -> str | None:
    return await node.sandboxes.create_container(sandbox, Container(id="c", sandbox_id=sandbox.id, name="app"))
