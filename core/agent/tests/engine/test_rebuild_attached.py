"""A new life of the agent whose ledger was lost: devices in pods stay or come back, no other link is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dragoman.model.sandboxes import Container
from dragoman_hookspecs import DeviceError, JsonObject, Record, Recovered, Recovery
from dragoman_testkit.fakes.node import FakeNode, pod_consumer

from .rebuildworld import attached, begin, is_empty, lost, prepared, rows, telling


@pytest.mark.parametrize("told", [True, False], ids=["status was written", "status was not written"])
async def test_a_device_in_a_pod_stays_there_and_comes_back_when_the_pod_stops(node: FakeNode, told: bool) -> None:
    claim = await prepared(node)
    if told:
        async with telling(node):
            sandbox = await attached(node, claim)
    else:
        sandbox = await attached(node, claim)
    guards = await node.guards()
    snapshots: list[JsonObject | None] = []

    def detach(record: Record, _: object) -> JsonObject:
        snapshots.append(record.snapshot)
        return {}

    node = await lost(node, sandbox)
    assert (len(guards), await node.guards()) == (1, guards)
    assert node.hooks.called("attach_device") == ["dummy0"]
    assert node.hooks.called("detach_device") == []
    (attachment,) = node.ledger.attachments()
    assert attachment.attached is not None
    assert attachment.attached.interface == "net1"
    assert await node.sandboxes.create_container(sandbox, Container(id="c", sandbox_id=sandbox.id, name="app")) is None

    node.hooks.fakes["dummy"].answers["detach_device"] = detach
    await node.sandboxes.stop_sandbox(sandbox, 1)
    former = {"name": "dummy0", "identity": "tag:dummy0"}
    assert snapshots == [former if told else {**former, "remnant": True}]
    assert await node.unprepare(claim) == ""
    assert await is_empty(node)


async def test_managers_hear_that_the_device_is_in_a_pod(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = await attached(node, claim)
    told: list[str] = []

    def recover(records: Sequence[Record]) -> Sequence[Recovered]:
        told.extend(record.attached.interface for record in records if record.attached)
        return [Recovered(outcome=Recovery.INTACT) for _ in records]

    node.hooks.fakes["dummy"].answers["recover_devices"] = recover
    await lost(node, sandbox)
    # Else the manager would make the link a second time, as the pod's is out of its sight.
    assert told == ["net1"]


async def test_a_link_that_a_foreign_pod_shows_is_not_taken_for_the_device(node: FakeNode) -> None:
    claim = await prepared(node)
    foreign = node.sandbox(node.claim("foreign", "dummy1"))
    assert foreign.netns_path is not None
    node.links.put_inside(foreign.netns_path, "net1", "tag:dummy0")
    node = await lost(node, foreign)
    assert node.ledger.attachments() == []
    assert await node.unprepare(claim) == ""


async def test_members_of_a_pod_group_are_looked_into(node: FakeNode) -> None:
    group = replace(pod_consumer("g"), resource="podgroups")
    claim = await prepared(node, reserved_for=(group,))
    member = node.sandbox(claim, "member")
    assert member.netns_path is not None
    node.links.put_inside(member.netns_path, "net1", "tag:dummy0")
    node = await lost(node, member)
    (attachment,) = node.ledger.attachments()
    assert attachment.key.sandbox_id == member.id


async def test_a_device_whose_pod_died_meanwhile_is_brought_back_with_its_former_settings(node: FakeNode) -> None:
    claim = await prepared(node)
    async with telling(node):
        sandbox = await attached(node, claim)
    assert sandbox.netns_path is not None
    node.links.remove_namespace(sandbox.netns_path)
    node = await lost(node)
    assert node.hooks.called("detach_device") == ["dummy0"]
    assert (node.ledger.attachments(), await node.guards(), node.hooks.attached) == ([], [], {})
    second = node.sandbox(claim, number=2)
    await node.sandboxes.run_sandbox(second, 1)
    assert node.hooks.attached == {("dummy", "dummy0", ""): second.netns_path}


async def test_after_a_reboot_devices_are_restored_and_links_are_left_as_they_are(node: FakeNode) -> None:
    claim = await prepared(node)
    async with telling(node):
        sandbox = await attached(node, claim)
    assert sandbox.netns_path is not None
    node.links.remove_namespace(sandbox.netns_path)
    node.hooks.set_up.clear()
    node.hooks.attached.clear()
    node = await lost(node, boot="b2")
    assert node.hooks.called("detach_device") == []
    assert node.hooks.set_up == {("dummy", "dummy0", "")}
    assert node.ledger.attachments() == []


async def test_a_sandbox_that_misses_its_device_gets_it_after_the_rebuild(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    node = await lost(node, sandbox)
    assert node.hooks.attached == {("dummy", "dummy0", ""): sandbox.netns_path}
    assert len(await node.guards()) == 1


async def test_a_claim_of_which_half_is_known_does_not_lose_that_half_under_its_pod(node: FakeNode) -> None:
    claim = await prepared(node, "a", "dummy0", "dummy1")
    sandbox = node.sandbox(claim)
    await node.sandboxes.run_sandbox(sandbox, 1)
    assert sandbox.netns_path is not None
    node.links.put_inside(sandbox.netns_path, "net1", "tag:dummy0")
    (read,) = (await node.source.of_node()).claims
    bad = replace(read.entries[1], data={"apiVersion": "other"})
    node.source.put(replace(read, entries=(read.entries[0], bad)))
    node = await lost(node, sandbox)
    assert [row.key.device for row in rows(node)] == ["dummy0"]
    # A kubelet that was restarted asks again for all running pods.
    assert "delete that pod" in (await node.prepare(claim)).error
    assert node.hooks.called("detach_device") == []
    await node.sandboxes.stop_sandbox(sandbox, 1)
    assert (await node.prepare(claim)).error == ""
    assert await node.unprepare(claim) == ""
    assert rows(node) == []


async def test_a_kernel_that_does_not_answer_is_asked_again(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = await attached(node, claim)
    node.links.faults.append(DeviceError("the kernel is busy"))
    node = node.restart(lost=True)
    task = await begin(node, sandbox)
    assert "the kernel is busy" in node.rebuilding.reason
    assert node.hooks.called("recover_devices") == []
    await node.clock.advance(5)
    assert task.done()
    assert len(node.ledger.attachments()) == 1
