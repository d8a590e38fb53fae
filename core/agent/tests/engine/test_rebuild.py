"""A new life of the agent whose ledger was lost: what it knows again, and what it leaves alone until it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.engine.rebuild import RUNTIME_WITHIN
from dragoman.engine.reporting import SETTLE
from dragoman.model.claims import AllocationResult, Claim, StatusEntry
from dragoman.model.records import AllocationRow
from dragoman.model.sandboxes import Container, Sandbox
from dragoman.model.states import AllocationState
from dragoman_hookspecs import DeviceError, Inventory, JsonObject, Record, Recovered, Recovery
from dragoman_testkit.fakes.hooks import FakeManager
from dragoman_testkit.fakes.node import DRIVER, POOL, FakeNode, devices, opaque, pod_consumer

SHARE = "aaaaaaaa-0000-0000-0000-000000000000"


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    return FakeNode(tmp_path)


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


async def lost(node: FakeNode, *sandboxes: Sandbox, boot: str = "b1") -> FakeNode:
    """Begin a life without the ledger, and let it rebuild."""
    node = node.restart(boot, lost=True)
    assert node.ledger.rebuilt
    task = await begin(node, *sandboxes)
    assert task.done(), node.rebuilding.reason
    assert (node.ledger.rebuilt, node.rebuilding.reason) == (False, "")
    return node


def rows(node: FakeNode) -> list[AllocationRow]:
    return list(node.ledger.allocations())


async def is_empty(node: FakeNode) -> bool:
    return not any((await node.left()).values())


async def test_all_that_was_prepared_is_known_again_as_it_was(tmp_path: Path) -> None:
    shared = FakeManager(type="shared", inventory=Inventory(devices=devices("wide0", shareable=True)))
    plain = FakeManager(inventory=Inventory(devices=devices("dummy0", "dummy1", "dummy2")))
    node = FakeNode(tmp_path, plain, shared)
    await prepared(node, "two", "dummy0", "dummy1", config=(opaque({"podIfName": "net1", "mtu": 1400}, "net"),))
    await prepared(node, "share", f"wide0@{SHARE}", pod_claim_name=None, pods=("one", "two"))
    await prepared(node, "group", "dummy2", reserved_for=(replace(pod_consumer("g"), resource="podgroups"),))
    watching = AllocationResult(request="w", driver=DRIVER, pool=POOL, device="dummy0", admin_access=True)
    await prepared(node, "admin", results=(watching,))
    before = rows(node)
    assert len(before) == 5
    node = await lost(node)
    assert rows(node) == before


async def test_a_claim_that_is_known_again_is_answered_as_before_and_freed_when_asked(node: FakeNode) -> None:
    claim = await prepared(node)
    answer = await node.prepare(claim)
    node = await lost(node)
    assert await node.prepare(claim) == answer
    assert node.hooks.called("setup_device") == ["dummy0"]
    assert await node.unprepare(claim) == ""
    assert await is_empty(node)


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


async def test_while_the_api_server_is_away_nothing_unknown_is_touched_and_former_claims_wait(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = await attached(node, claim)
    files = await node.cdi.present()
    node.source.away = True
    node = node.restart(lost=True)
    task = await begin(node, sandbox)
    assert not task.done()
    assert "API server does not answer" in node.rebuilding.reason
    assert node.hooks.called("recover_devices") == []
    assert await node.cdi.present() == files

    unprepare = asyncio.create_task(node.unprepare(claim))
    await node.clock.advance(60)
    assert "ledger is still being rebuilt" in unprepare.result()
    assert len(node.hooks.set_up) == 1

    again = asyncio.create_task(node.unprepare(claim))
    node.source.away = False
    await node.clock.advance(30)
    assert task.done()
    assert again.result() == ""
    assert await is_empty(node)


async def test_a_prepare_of_a_former_claim_waits_and_sets_nothing_up_again(node: FakeNode) -> None:
    claim = await prepared(node)
    answer = await node.prepare(claim)
    node.source.unreadable = {"a"}
    node = node.restart(lost=True)
    task = await begin(node)
    again = asyncio.create_task(node.prepare(claim))
    await node.clock.settle()
    assert not again.done()
    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert again.result() == answer
    assert node.hooks.called("setup_device") == ["dummy0"]


async def test_new_claims_are_served_while_a_former_one_cannot_be_read(node: FakeNode) -> None:
    former, other = await prepared(node, "former"), await prepared(node, "other", "dummy1")
    node.source.unreadable = {"former"}
    node = node.restart(lost=True)
    task = await begin(node)
    assert "claim default/former cannot be read" in node.rebuilding.reason
    new = node.claim("new", "dummy2")
    assert (await node.prepare(new)).error == ""
    assert {row.claim.name for row in rows(node)} == {"other", "new"}
    assert await node.unprepare(other) == ""
    assert await node.unprepare(new) == ""
    # Nobody was told that the records are complete: a manager would delete what it made for the former claim.
    assert node.hooks.called("recover_devices") == []
    assert node.hooks.set_up == {("dummy", "dummy0", "")}

    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert [row.claim.name for row in rows(node)] == ["former"]
    assert node.hooks.called("recover_devices") == ["dummy0"]
    assert await node.unprepare(former) == ""
    assert await is_empty(node)


async def test_an_unfinished_rebuild_goes_on_in_the_next_life(node: FakeNode) -> None:
    await prepared(node, "former")
    await prepared(node, "other", "dummy1")
    node.source.unreadable = {"former"}
    node = node.restart(lost=True)
    (await begin(node)).cancel()
    node = node.restart()
    assert node.ledger.rebuilt
    task = await begin(node)
    # Those that are known are looked after, without the word that they are all.
    assert node.hooks.called("recover_devices") == ["dummy1"]
    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert {row.claim.name for row in rows(node)} == {"former", "other"}


async def test_what_a_life_unprepared_does_not_rise_from_old_news(node: FakeNode) -> None:
    claim = await prepared(node)
    node.source.unreadable = {"a"}
    await prepared(node, "other", "dummy1")
    node = node.restart(lost=True)
    task = await begin(node)
    other = (await node.source.of_node()).claims[0]
    assert [await node.unprepare(other), await node.unprepare(other)] == ["", ""]
    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert [row.claim.uid for row in rows(node)] == [claim.uid]


async def test_a_claim_whose_status_was_never_written_is_left_to_the_kubelet(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node = await lost(node)
    assert rows(node) == []
    # Now managers hear that nobody holds the device.
    assert node.hooks.called("recover_devices") == [""]
    assert (await node.prepare(claim)).error == ""
    assert await node.unprepare(claim) == ""
    assert await is_empty(node)


@pytest.mark.parametrize("data", [{"apiVersion": "status.dragoman.dev/v9"}, {}, [], "text"])
async def test_an_entry_that_cannot_be_understood_costs_its_device_only(node: FakeNode, data: object) -> None:
    bad = await prepared(node, "bad")
    await prepared(node, "good", "dummy1")
    entry = StatusEntry(driver=DRIVER, pool=POOL, device="dummy0", data=data)
    node.source.put(replace(bad, entries=(entry,)))
    node = await lost(node)
    assert [row.claim.name for row in rows(node)] == ["good"]


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


async def test_claims_of_a_plugin_that_is_gone_are_known_again_too(node: FakeNode) -> None:
    claim = await prepared(node)
    fake = node.hooks.fakes.pop("dummy")
    node = await lost(node)
    assert [row.key.device for row in rows(node)] == ["dummy0"]
    assert "dragoman-dummy 1.0" in await node.unprepare(claim)
    node.hooks.fakes["dummy"] = fake


async def test_a_device_that_is_being_set_up_is_not_taken_for_unclaimed(node: FakeNode) -> None:
    await prepared(node, "former")
    node = node.restart(lost=True)
    await node.recover()
    await node.sandboxes.synchronize([])
    hold = node.hooks.hold("setup_device")
    new = node.claim("new", "dummy1")
    call = asyncio.create_task(node.prepare(new))
    await node.clock.settle()
    task = asyncio.create_task(node.rebuilding.run())
    await node.clock.settle()
    assert node.hooks.called("recover_devices") == []
    hold.set()
    await node.clock.settle()
    assert (await call).error == ""
    assert task.done()
    assert node.hooks.called("recover_devices") == ["dummy0,dummy1"]


async def test_nothing_is_set_up_while_managers_look_for_what_is_unclaimed(node: FakeNode) -> None:
    await prepared(node, "former")
    hold = node.hooks.hold("recover_devices")
    node = node.restart(lost=True)
    task = await begin(node)
    assert node.hooks.called("recover_devices") == ["dummy0"]
    call = asyncio.create_task(node.prepare(node.claim("new", "dummy1")))
    await node.clock.settle()
    assert node.hooks.called("setup_device") == ["dummy0"]
    hold.set()
    assert (await call).error == ""
    assert task.done()


async def test_a_runtime_that_tells_nothing_does_not_hold_the_rebuild_for_ever(node: FakeNode) -> None:
    await prepared(node)
    node = node.restart(lost=True)
    await node.recover()
    task = asyncio.create_task(node.rebuilding.run())
    await node.clock.advance(RUNTIME_WITHIN - 1)
    assert rows(node) == []
    await node.clock.advance(1)
    assert task.done()
    assert len(rows(node)) == 1


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


async def test_a_ledger_that_was_not_lost_is_not_rebuilt(node: FakeNode) -> None:
    await prepared(node)
    await node.rebuilding.run()
    await node.rebuilding.done()
    assert [row.state for row in rows(node)] == [AllocationState.PREPARED]
