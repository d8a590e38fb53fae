"""Attach with sandboxes: order of durable steps, guards, failures, budget."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from dragoman.model.sandboxes import Sandbox
from dragoman.model.states import AttachmentState
from dragoman_hookspecs import Device, DeviceError, Inventory, LinkMissing
from dragoman_testkit.fakes.hooks import FakeManager
from dragoman_testkit.fakes.node import FakeNode, opaque

from .sandboxworld import BUDGET, gate, prepared, run


async def test_a_device_is_attached_described_and_its_guard_opened_before_the_runtime_goes_on(node: FakeNode) -> None:
    claim = await prepared(node, config=(opaque({"podIfName": "fast0", "addresses": ["10.1.0.5/24"]}),))
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    (attachment,) = node.ledger.attachments()
    assert attachment.state is AttachmentState.ATTACHED
    assert attachment.snapshot == {"name": "dummy0", "identity": "tag:dummy0"}
    assert node.hooks.attached == {("dummy", "dummy0", ""): sandbox.netns_path}
    assert len(await node.guards()) == 1
    assert await gate(node, sandbox) is None
    (device,) = node.hooks.written[claim.uid]
    assert device.network_data == {"interfaceName": "fast0", "ips": ["10.1.0.5/24"]}


async def test_a_pod_without_claims_costs_nothing(node: FakeNode) -> None:
    await prepared(node)
    path = node.links.add_namespace("/run/netns/x").path
    other = Sandbox(id="s", pod_uid="x", pod_namespace="default", pod_name="x", netns_path=path)
    await run(node, other)
    assert await gate(node, other) is None
    assert node.pod_resources.asked == []  # the only claim was made from a template
    assert node.ledger.attachments() == []


async def test_the_snapshot_is_durable_before_the_move(node: FakeNode) -> None:
    claim = await prepared(node)
    hold = node.hooks.hold("attach_device")
    call = asyncio.create_task(node.sandboxes.run_sandbox(node.sandbox(claim), BUDGET))
    await node.clock.settle()
    (attachment,) = node.ledger.attachments()
    assert (attachment.state, attachment.snapshot is not None) == (AttachmentState.ATTACHING, True)
    assert await node.guards() == []
    hold.set()
    await call


async def test_a_failed_attach_is_undone_told_and_tried_again(node: FakeNode) -> None:
    claim = await prepared(node)
    node.hooks.fail("attach_device", DeviceError("parent is down"), times=4)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    assert await node.guards() == []
    assert "parent is down" in (await gate(node, sandbox) or "")
    (event,) = node.events.events  # the same problem is told once
    assert event.subject.name == "a-pod"
    assert "parent is down" in event.message
    await node.clock.advance(10)
    assert len(await node.guards()) == 1
    assert await gate(node, sandbox) is None


async def test_two_sandboxes_that_fail_do_not_wake_each_other(node: FakeNode) -> None:
    one, two = await prepared(node, "one", "dummy0"), await prepared(node, "two", "dummy1")
    node.hooks.fail("attach_device", DeviceError("no"), times=1000)
    await run(node, node.sandbox(one))
    await run(node, node.sandbox(two))
    await node.clock.advance(60)
    # 0.5, 1, 2, 4, 8 and then every 10 s: a dozen attempts each in a minute, not hundreds.
    assert len(node.hooks.called("attach_device")) < 30


async def test_a_slow_attach_does_not_hold_the_runtime_beyond_its_budget(node: FakeNode) -> None:
    claim = await prepared(node)
    hold = node.hooks.hold("attach_device")
    sandbox = node.sandbox(claim)
    call = asyncio.create_task(node.sandboxes.run_sandbox(sandbox, BUDGET))
    await node.clock.advance(BUDGET)
    assert call.done()
    assert "dummy0" in (await gate(node, sandbox) or "")
    hold.set()
    await node.clock.settle()
    assert await gate(node, sandbox) is None
    assert len(await node.guards()) == 1


async def test_a_missing_link_is_recovered_once_and_attached(node: FakeNode) -> None:
    claim = await prepared(node)
    node.hooks.fail("attach_device", LinkMissing("gone"))
    await run(node, node.sandbox(claim))
    assert node.hooks.called("recover_devices") == ["dummy0"]
    assert len(node.hooks.attached) == 1


async def test_names_are_checked_for_the_whole_pod_before_the_first_move(node: FakeNode) -> None:
    claim = await prepared(node, "a", "dummy0", "dummy1", config=(opaque({"podIfName": "eth0"}, "r1"),))
    await run(node, node.sandbox(claim))
    assert node.hooks.called("attach_device") == []
    assert "eth0" in node.events.events[0].message


async def test_two_devices_of_a_pod_cannot_have_one_name(node: FakeNode) -> None:
    claim = await prepared(node, "a", "dummy0", "dummy1", config=(opaque({"podIfName": "net1"}),))
    await run(node, node.sandbox(claim))
    assert node.hooks.called("attach_device") == []
    assert "net1" in node.events.events[0].message


async def test_a_pod_in_the_hosts_network_is_told_so_and_stays_closed(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = replace(node.sandbox(claim), netns_path=None)
    await run(node, sandbox)
    assert "no network namespace" in node.events.events[0].message
    assert await node.guards() == []
    assert await gate(node, sandbox) is not None


async def test_synchronize_attaches_what_was_missed_and_returns_what_died(node: FakeNode) -> None:
    missed, died = await prepared(node, "missed", "dummy0"), await prepared(node, "died", "dummy1")
    gone = node.sandbox(died)
    await run(node, gone)
    assert gone.netns_path is not None
    node.links.remove_namespace(gone.netns_path)
    running = node.sandbox(missed)
    await node.sandboxes.synchronize([running])
    await node.clock.settle()
    assert node.hooks.attached == {("dummy", "dummy0", ""): running.netns_path}
    assert len(await node.guards()) == 1


async def test_synchronize_without_a_fresh_pod_does_not_touch_it(node: FakeNode) -> None:
    claim = await prepared(node)
    await node.sandboxes.synchronize([])
    fresh = node.sandbox(claim)
    await run(node, fresh)
    await node.sandboxes.synchronize([])  # a list that was made before the sandbox started
    await node.clock.settle()
    assert node.hooks.attached == {("dummy", "dummy0", ""): fresh.netns_path}
    assert len(await node.guards()) == 1


async def test_a_link_that_became_the_hosts_uplink_is_not_moved(node_of: Callable[..., FakeNode]) -> None:
    nic = Device(name="nic0", identity="mac:02:00:00:00:00:01", link="nic0")
    node = node_of(FakeManager(inventory=Inventory(devices=(nic,))))
    claim = await prepared(node, "a", "nic0")
    node.links.uplinks = frozenset({"nic0"})
    await run(node, node.sandbox(claim))
    assert node.hooks.called("attach_device") == []
    assert "default route" in node.events.events[0].message
