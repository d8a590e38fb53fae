"""Attach and detach with sandboxes: order of durable steps, guards, several pods, failures, budget."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.engine.reporting import SETTLE
from dragoman.model.claims import Claim
from dragoman.model.sandboxes import Container, Sandbox
from dragoman.model.states import AttachmentState
from dragoman_hookspecs import Device, DeviceError, Inventory, LinkMissing
from dragoman_testkit.fakes.cluster import MemoryPodClaim
from dragoman_testkit.fakes.hooks import FakeManager
from dragoman_testkit.fakes.node import DRIVER, POOL, FakeNode, opaque, pod_consumer

BUDGET = 1.5


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    return FakeNode(tmp_path)


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


async def test_a_new_sandbox_of_the_same_pod_takes_the_device_over(node: FakeNode) -> None:
    claim = await prepared(node)
    first = node.sandbox(claim)
    await run(node, first)
    second = node.sandbox(claim, number=2)
    await run(node, second)
    assert [row.key.sandbox_id for row in node.ledger.attachments()] == [second.id]
    assert node.hooks.attached == {("dummy", "dummy0", ""): second.netns_path}


async def test_a_second_pod_of_a_claim_waits_closed_and_follows(node: FakeNode) -> None:
    claim = await prepared(node, pods=("one", "two"))
    one, two = node.sandbox(claim, "one"), node.sandbox(claim, "two")
    await run(node, one)
    await run(node, two)
    assert "a-one" in (await gate(node, two) or "")
    assert await gate(node, one) is None
    await node.sandboxes.stop_sandbox(one, BUDGET)
    await node.clock.settle()
    assert await gate(node, two) is None
    assert node.hooks.attached == {("dummy", "dummy0", ""): two.netns_path}


async def test_the_runtime_does_not_wait_for_a_device_that_another_pod_has(node: FakeNode) -> None:
    claim = await prepared(node, pods=("pod", "other"))
    await run(node, node.sandbox(claim))
    call = asyncio.create_task(node.sandboxes.run_sandbox(node.sandbox(claim, "other"), BUDGET))
    await node.clock.settle()
    assert call.done()


async def test_a_dead_namespace_gives_its_device_to_the_next_pod(node: FakeNode) -> None:
    claim = await prepared(node, pods=("one", "two"))
    one, two = node.sandbox(claim, "one"), node.sandbox(claim, "two")
    await run(node, one)
    assert one.netns_path is not None
    node.links.remove_namespace(one.netns_path)
    await run(node, two)
    assert node.hooks.attached == {("dummy", "dummy0", ""): two.netns_path}


async def test_a_further_pod_of_a_direct_claim_is_found_through_pod_resources(node: FakeNode) -> None:
    claim = await prepared(node, pod_claim_name=None)
    node.pod_resources.pods["default", "a-late"] = [
        MemoryPodClaim(claim_namespace="default", claim_name="a", driver=DRIVER, pool=POOL, device="dummy0")
    ]
    late = node.sandbox(claim, "late")
    await run(node, late)
    assert node.hooks.attached == {("dummy", "dummy0", ""): late.netns_path}
    assert await gate(node, late) is None


async def test_a_further_pod_is_found_once_the_kubelet_answers_again(node: FakeNode) -> None:
    claim = await prepared(node, pod_claim_name=None)
    node.pod_resources.pods["default", "a-late"] = [
        MemoryPodClaim(claim_namespace="default", claim_name="a", driver=DRIVER, pool=POOL, device="dummy0")
    ]
    node.pod_resources.away = True
    late = node.sandbox(claim, "late")
    await run(node, late)
    assert node.hooks.attached == {}
    assert node.events.events == []  # nobody knows yet whether the pod has a device
    node.pod_resources.away = False
    await node.clock.advance(1)
    assert node.hooks.attached == {("dummy", "dummy0", ""): late.netns_path}


async def test_what_is_known_of_a_pod_is_attached_while_the_kubelet_does_not_answer(node: FakeNode) -> None:
    claim = await prepared(node, pod_claim_name=None)
    node.pod_resources.away = True
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    assert await gate(node, sandbox) is None
    assert len(await node.guards()) == 1


async def test_a_claim_of_a_pod_group_finds_its_pods_through_pod_resources(node: FakeNode) -> None:
    group = replace(pod_consumer("group"), resource="podgroups")
    claim = await prepared(node, reserved_for=(group,))
    node.pod_resources.pods["default", "a-member"] = [
        MemoryPodClaim(claim_namespace="default", claim_name="a", driver=DRIVER, pool=POOL, device="dummy0")
    ]
    await run(node, node.sandbox(claim, "member"))
    assert len(node.hooks.attached) == 1


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


async def test_a_link_that_became_the_hosts_uplink_is_not_moved(tmp_path: Path) -> None:
    nic = Device(name="nic0", identity="mac:02:00:00:00:00:01", link="nic0")
    node = FakeNode(tmp_path, FakeManager(inventory=Inventory(devices=(nic,))))
    claim = await prepared(node, "a", "nic0")
    node.links.uplinks = frozenset({"nic0"})
    await run(node, node.sandbox(claim))
    assert node.hooks.called("attach_device") == []
    assert "default route" in node.events.events[0].message


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
