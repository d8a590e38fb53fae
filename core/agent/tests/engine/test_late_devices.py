"""A device that is in its pod only after the runtime went on: the kubelet is told, so that it tries the pod again."""

import asyncio

from dragoman.model.sandboxes import Sandbox
from dragoman_hookspecs import DeviceError
from dragoman_testkit.fakes.node import FakeNode

BUDGET = 1.5


async def prepared(node: FakeNode, *devices: str) -> Sandbox:
    claim = node.claim("a", *(devices or ("dummy0",)))
    assert (await node.prepare(claim)).error == ""
    return node.sandbox(claim)


async def run(node: FakeNode, sandbox: Sandbox) -> None:
    await node.sandboxes.run_sandbox(sandbox, BUDGET)
    await node.clock.settle()


async def test_nothing_is_told_of_a_device_that_is_in_before_the_runtime_goes_on(node: FakeNode) -> None:
    await run(node, await prepared(node))
    assert len(await node.guards()) == 1
    assert node.late == []


async def test_a_device_is_told_that_a_further_attempt_brought_in_and_no_other(node: FakeNode) -> None:
    sandbox = await prepared(node, "dummy0", "dummy1")
    node.hooks.fail("attach_device", DeviceError("busy"), device="dummy1", times=2)
    await run(node, sandbox)
    assert node.late == []
    await node.clock.advance(10)
    assert len(await node.guards()) == 2
    assert node.late == ["dummy1"]


async def test_a_device_is_told_that_was_attached_too_slowly_for_the_runtime(node: FakeNode) -> None:
    sandbox = await prepared(node)
    hold = node.hooks.hold("attach_device")
    call = asyncio.create_task(node.sandboxes.run_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    await node.clock.advance(BUDGET)
    await call
    hold.set()
    await node.clock.settle()
    assert node.late == ["dummy0"]


async def test_a_device_is_told_that_a_running_sandbox_was_found_without(node: FakeNode) -> None:
    sandbox = await prepared(node)
    await node.sandboxes.synchronize([sandbox])
    await node.clock.settle()
    assert node.late == ["dummy0"]


async def test_a_device_is_told_that_was_attached_for_a_runtime_that_was_gone_already(node: FakeNode) -> None:
    sandbox = await prepared(node)
    hold = node.hooks.hold("attach_device")
    call = asyncio.create_task(node.sandboxes.run_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    await node.sandboxes.synchronize([sandbox])
    hold.set()
    await call
    await node.clock.settle()
    assert node.late == ["dummy0"]
