"""A new life of the agent over the disk of the former: what is taken over, what is undone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.engine.recovery import Recovering
from dragoman.hooks import PluginTimeout
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import DeviceError, Record, Recovered, Recovery
from dragoman_testkit.fakes.node import FakeNode


async def test_a_prepared_claim_is_served_as_if_nothing_had_happened(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    first = await node.prepare(claim)
    node = node.restart()
    await node.recover()
    assert await node.prepare(claim) == first
    await node.sandboxes.run_sandbox(node.sandbox(claim), 1)
    assert len(node.hooks.attached) == 1
    assert node.hooks.called("setup_device") == ["dummy0"]


async def test_an_attached_device_stays_and_its_guard_is_opened_again(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    sandbox = node.sandbox(claim)
    await node.sandboxes.run_sandbox(sandbox, 1)
    assert sandbox.netns_path is not None
    node.links.namespaces[sandbox.netns_path].append("dummy0")
    files = await node.cdi.present()
    for name in files:
        await node.cdi.remove_file(name)
    node = node.restart()
    await node.recover()
    assert await node.cdi.present() == files
    assert node.hooks.called("detach_device") == []


async def test_a_folder_of_specs_that_cannot_be_used_does_not_keep_the_node_from_being_served(
    node: FakeNode, tmp_path: Path
) -> None:
    claim, other = node.claim("a", "dummy0", "dummy1"), node.claim("b", "dummy2")
    await node.prepare(claim)
    await node.prepare(other)
    sandbox = node.sandbox(claim)
    await node.sandboxes.run_sandbox(sandbox, 1)
    assert sandbox.netns_path is not None
    node.links.namespaces[sandbox.netns_path] += ["dummy0", "dummy1"]
    folder = tmp_path / "cdi"
    folder.rename(tmp_path / "away")
    folder.touch()
    node = node.restart()
    await node.recover()
    assert str(folder) in (await node.prepare(claim)).error
    refused = await node.unprepare(other)
    assert str(folder) in refused
    folder.unlink()
    await node.recover()
    assert len(await node.guards()) == 2
    assert (await node.prepare(claim)).error == ""
    assert await node.unprepare(other) == ""


async def test_a_device_that_its_pod_has_renamed_stays(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    sandbox = node.sandbox(claim)
    await node.sandboxes.run_sandbox(sandbox, 1)
    assert sandbox.netns_path is not None
    node.links.put_inside(sandbox.netns_path, "renamed", "tag:dummy0")
    node = node.restart()
    await node.recover()
    assert len(await node.guards()) == 1
    assert node.hooks.called("detach_device") == []


async def test_a_device_is_not_taken_out_of_a_running_pod_because_the_kernel_cannot_be_asked(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    await node.sandboxes.run_sandbox(node.sandbox(claim), 1)
    node.links.faults.append(DeviceError("too many open files"))
    node = node.restart()
    await node.recover()
    assert node.hooks.called("detach_device") == []
    assert [row.state for row in node.ledger.attachments()] == [AttachmentState.ATTACHED]


async def test_a_guard_is_not_opened_for_a_device_that_is_not_in_its_pod(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    await node.sandboxes.run_sandbox(node.sandbox(claim), 1)
    node = node.restart()  # its interface is not in the namespace any more
    await node.recover()
    assert await node.guards() == []
    assert node.ledger.attachments() == []
    assert node.hooks.called("detach_device") == ["dummy0"]


async def test_an_attachment_whose_namespace_died_is_brought_back(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    sandbox = node.sandbox(claim)
    await node.sandboxes.run_sandbox(sandbox, 1)
    assert sandbox.netns_path is not None
    node.links.remove_namespace(sandbox.netns_path)
    node = node.restart()
    await node.recover()
    assert (await node.guards(), node.ledger.attachments(), node.hooks.attached) == ([], [], {})


@pytest.mark.parametrize("state", [AttachmentState.ATTACHING, AttachmentState.DETACHING])
async def test_a_half_moved_device_is_undone(node: FakeNode, state: AttachmentState) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    await node.sandboxes.run_sandbox(node.sandbox(claim), 1)
    (row,) = node.ledger.attachments()
    if state is AttachmentState.DETACHING:
        node.ledger.put_attachments([replace(row, state=state)])
    else:
        node.ledger.put_attachments([replace(row, state=AttachmentState.DETACHING)])
        node.ledger.delete_attachments([row.key])
        node.ledger.put_attachments([replace(row, state=state, attached=None)])
    node = node.restart()
    await node.recover()
    assert (node.ledger.attachments(), node.hooks.attached, await node.guards()) == ([], {}, [])


@pytest.mark.parametrize("state", [AllocationState.PREPARING, AllocationState.FREEING])
async def test_an_unfinished_claim_is_freed(node: FakeNode, state: AllocationState) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    (row,) = node.ledger.allocations()
    node.ledger.put_allocations([replace(row, state=AllocationState.FREEING)])
    if state is AllocationState.PREPARING:
        node.ledger.delete_allocations([row.key])
        node.ledger.put_allocations([replace(row, state=state, prepared=None)])
    node = node.restart()
    await node.recover()
    left = await node.left()
    assert not any(left.values()), left


async def test_a_reboot_restores_devices_and_forgets_attachments(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    sandbox = node.sandbox(claim)
    await node.sandboxes.run_sandbox(sandbox, 1)
    node.hooks.set_up.clear()
    node.hooks.attached.clear()
    assert sandbox.netns_path is not None
    node.links.remove_namespace(sandbox.netns_path)
    for name in await node.cdi.present():
        await node.cdi.remove_file(name)
    node = node.restart(boot="b2")
    await node.recover()
    assert node.hooks.set_up == {("dummy", "dummy0", "")}
    assert node.ledger.attachments() == []
    assert node.hooks.called("detach_device") == []  # the links are fresh, nothing is to be brought back
    assert len(await node.cdi.present()) == 1
    await node.sandboxes.run_sandbox(node.sandbox(claim, number=2), 1)
    assert len(await node.guards()) == 1


async def test_a_manager_is_told_that_a_device_could_not_be_brought_back_yet(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    await node.sandboxes.run_sandbox(node.sandbox(claim), 1)
    records: list[Record] = []

    def note(given: Sequence[Record]) -> Sequence[Recovered]:
        records.extend(given)
        return [Recovered(outcome=Recovery.INTACT) for _ in given]

    node.hooks.fakes["dummy"].answers["recover_devices"] = note
    node.hooks.fail("detach_device", DeviceError("not now"))
    node = node.restart()  # the device is not in its pod, and does not come back
    (row,) = node.ledger.attachments()
    node.ledger.put_attachments([replace(row, state=AttachmentState.DETACHING)])
    await node.recover()
    assert [record.snapshot for record in records] == [row.snapshot]


async def test_a_lost_device_is_kept_and_said(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    lost = [Recovered(outcome=Recovery.LOST, message="the card was pulled")]
    node.hooks.fakes["dummy"].answers["recover_devices"] = lambda _: lost
    node = node.restart()
    await node.recover()
    (row,) = node.ledger.allocations()
    assert row.failure == "the card was pulled"
    assert await node.unprepare(claim) == ""


async def test_a_manager_that_cannot_recover_keeps_its_claims_and_the_others_go_on(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node.hooks.fail("recover_devices", DeviceError("not now"))
    node = node.restart()
    await node.recover()
    assert len(node.ledger.allocations()) == 1


async def test_managers_are_asked_once_even_without_records(node: FakeNode) -> None:
    await node.recover()
    assert [call.hook for call in node.hooks.calls].count("recover_devices") == 1


async def test_files_that_no_row_names_are_removed(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    (row,) = node.ledger.allocations()
    stale = node.cdi.file_names(row.key)
    node.ledger.put_allocations([replace(row, state=AllocationState.FREEING)])
    node.ledger.delete_allocations([row.key])
    node = node.restart()
    await node.recover()
    assert not stale & set(await node.cdi.present())


async def test_rows_of_a_plugin_that_is_gone_stay_and_their_links_come_back(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    sandbox = node.sandbox(claim)
    await node.sandboxes.run_sandbox(sandbox, 1)
    assert sandbox.netns_path is not None
    node.links.remove_namespace(sandbox.netns_path)
    fake = node.hooks.fakes.pop("dummy")
    node = node.restart()
    await node.recover()
    assert node.links.restored == [{"name": "dummy0", "identity": "tag:dummy0"}]
    assert len(node.ledger.allocations()) == 1
    node.hooks.fakes["dummy"] = fake


async def test_a_manager_that_could_not_recover_is_asked_again_and_shown_until_then(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node.hooks.set_up.clear()
    node.hooks.fail("recover_devices", DeviceError("the bus is busy"), times=2)
    node = node.restart()
    recovering = Recovering(node.parts)
    await recovering.recover()
    assert "the bus is busy" in recovering.reason
    again = asyncio.create_task(recovering.run())
    await node.clock.advance(20)
    again.cancel()
    assert recovering.reason == ""
    assert node.hooks.set_up == {("dummy", "dummy0", "")}


async def test_a_manager_that_hangs_in_recovery_is_not_asked_again(node: FakeNode) -> None:
    node.hooks.fail("recover_devices", PluginTimeout("recover_devices of dummy takes longer than 60 s"))
    recovering = Recovering(node.parts)
    await recovering.recover()
    again = asyncio.create_task(recovering.run())
    await node.clock.advance(3600)
    again.cancel()
    assert len(node.hooks.called("recover_devices")) == 1
    assert "60 s" in recovering.reason


async def test_parameters_that_this_release_refuses_keep_no_device_from_being_recovered_and_freed(
    node: FakeNode,
) -> None:
    claims = [node.claim(name, device) for name, device in (("a", "dummy0"), ("b", "dummy1"))]
    for claim in claims:
        assert (await node.prepare(claim)).error == ""
    (row,) = node.ledger.of_claim(claims[0].uid)
    node.ledger.put_allocations([replace(row, parameters={"mtu": -5, "podIfName": "net7"})])
    node = node.restart()
    seen: list[tuple[str | None, int | None]] = []

    def answer(records: Sequence[Record]) -> list[Recovered]:
        seen.extend((each.allocation.parameters.pod_if_name, each.allocation.parameters.mtu) for each in records)
        return [Recovered(outcome=Recovery.INTACT) for _ in records]

    node.hooks.fakes["dummy"].answers["recover_devices"] = answer
    await node.recover()
    assert seen == [("net7", None), (None, None)]
    assert [await node.unprepare(claim) for claim in claims] == ["", ""]
    assert not any((await node.left()).values())
