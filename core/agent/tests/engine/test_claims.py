"""Prepare and unprepare, over a real ledger and real files; managers, links and cluster are the shipped fakes."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from dragoman.model.claims import AllocationResult, ClaimRef
from dragoman.model.states import AllocationState
from dragoman_hookspecs import DeviceError, InvalidConfig, Inventory, WrittenMetadata
from dragoman_testkit.fakes.hooks import FakeManager
from dragoman_testkit.fakes.node import DRIVER, POOL, FakeNode, devices, opaque, pod_consumer

SHARE_A, SHARE_B = "aaaaaaaa-0000-0000-0000-000000000000", "bbbbbbbb-0000-0000-0000-000000000000"


def empty(left: object) -> bool:
    return isinstance(left, dict) and not any(left.values())


async def test_a_prepared_device_is_answered_with_its_own_id_first_and_its_guard_unresolved(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    answer = await node.prepare(claim)
    assert answer.error == ""
    (device,) = answer.devices
    (row,) = node.ledger.allocations()
    assert (device.requests, device.pool, device.device) == (("net",), POOL, "dummy0")
    assert device.cdi_device_ids == (node.cdi.device_id(row.key), node.cdi.guard_id(row.key))
    assert row.state is AllocationState.PREPARED
    assert await node.guards() == []
    assert node.hooks.set_up == {("dummy", "dummy0", "")}


async def test_unprepare_leaves_nothing(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0", "dummy1")
    await node.prepare(claim)
    assert await node.unprepare(claim) == ""
    assert empty(await node.left())
    assert [row.key.device for row in node.returned] == ["dummy0", "dummy1"]
    # Devices go back in reverse order of their setup.
    assert node.hooks.called("free_device") == ["dummy1", "dummy0"]


async def test_unprepare_of_an_unknown_claim_succeeds_and_asks_nobody(node: FakeNode) -> None:
    ref = ClaimRef(uid="never", namespace="default", name="never")
    assert await node.claims.unprepare([ref]) == {"never": ""}
    assert node.hooks.calls == []
    assert node.source.reads == 0


async def test_an_empty_batch_succeeds(node: FakeNode) -> None:
    assert await node.claims.prepare([]) == {}
    assert await node.claims.unprepare([]) == {}


async def test_one_bad_claim_of_a_batch_fails_alone(node: FakeNode) -> None:
    good, bad = node.claim("good", "dummy0"), node.claim("bad", "nothere")
    missing = ClaimRef(uid="gone", namespace="default", name="gone")
    answers = await node.claims.prepare([good.ref, bad.ref, missing, good.ref])
    assert set(answers) == {good.uid, bad.uid, "gone"}
    assert answers[good.uid].error == ""
    assert "nothere" in answers[bad.uid].error
    assert "default/bad" in answers[bad.uid].error
    assert "default/gone" in answers["gone"].error


async def test_a_replaced_claim_is_refused(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    (answer,) = (await node.claims.prepare([replace(claim.ref, uid="older")])).values()
    assert "uid" in answer.error
    assert empty(await node.left())


async def test_preparing_again_gives_the_same_answer_and_sets_nothing_up(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0", "dummy1")
    first = await node.prepare(claim)
    assert await node.prepare(claim) == first
    assert node.hooks.called("setup_device") == ["dummy0", "dummy1"]


async def test_preparing_again_restores_an_emptied_cdi_folder_but_opens_no_guard(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    before = await node.cdi.present()
    for name in before:
        await node.cdi.remove_file(name)
    await node.prepare(claim)
    assert await node.cdi.present() == before
    assert await node.guards() == []


async def test_a_prepared_claim_is_answered_while_the_api_server_is_away(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    first = await node.prepare(claim)
    node.source.away = True
    assert await node.prepare(claim) == first
    (answer,) = (await node.claims.prepare([node.claim("b", "dummy1").ref])).values()
    assert "API server" in answer.error


async def test_a_repeated_prepare_joins_the_one_in_progress(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    gate = node.hooks.hold("setup_device")
    calls = [asyncio.create_task(node.prepare(claim)) for _ in range(3)]
    await node.clock.settle()
    gate.set()
    answers = await asyncio.gather(*calls)
    assert answers[0] == answers[1] == answers[2]
    assert node.hooks.called("setup_device") == ["dummy0"]


async def test_a_caller_that_goes_away_does_not_stop_the_prepare(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    gate = node.hooks.hold("setup_device")
    call = asyncio.create_task(node.prepare(claim))
    await node.clock.settle()
    call.cancel()
    gate.set()
    await node.claims.drain()
    (row,) = node.ledger.allocations()
    assert row.state is AllocationState.PREPARED


async def test_a_failed_setup_undoes_the_devices_before_it_in_reverse(node: FakeNode) -> None:
    node.hooks.fail("setup_device", DeviceError("no room for dummy2"), device="dummy2", after=True)
    claim = node.claim("a", "dummy0", "dummy1", "dummy2")
    answer = await node.prepare(claim)
    assert "no room for dummy2" in answer.error
    assert answer.devices == ()
    assert node.hooks.called("free_device") == ["dummy2", "dummy1", "dummy0"]
    assert empty(await node.left())


async def test_a_failed_metadata_write_fails_the_claim(node: FakeNode) -> None:
    node.hooks.fail("write_metadata", DeviceError("disk full"))
    assert "disk full" in (await node.prepare(node.claim("a", "dummy0"))).error
    assert empty(await node.left())


async def test_a_fault_of_a_plugin_is_an_error_of_its_claim_only(node: FakeNode) -> None:
    node.hooks.fail("setup_device", RuntimeError("boom"), device="dummy0")
    answers = await node.claims.prepare([node.claim("a", "dummy0").ref, node.claim("b", "dummy1").ref])
    assert "boom" in answers["uid-a"].error
    assert answers["uid-b"].error == ""


async def test_the_plan_is_durable_before_setup_runs(node: FakeNode) -> None:
    gate = node.hooks.hold("setup_device")
    call = asyncio.create_task(node.prepare(node.claim("a", "dummy0")))
    await node.clock.settle()
    (row,) = node.ledger.allocations()
    assert (row.state, row.plan) == (AllocationState.PREPARING, {"link": "dummy0"})
    gate.set()
    await call


async def test_every_device_is_checked_before_any_side_effect(node: FakeNode) -> None:
    node.hooks.fakes["dummy"].answers["check_config"] = lambda device, _: (
        InvalidConfig.at("mtu", "is above the MTU of the parent, 1500") if device.name == "dummy1" else None
    )
    answer = await node.prepare(node.claim("a", "dummy0", "dummy1"))
    assert "dummy1" in answer.error
    assert "mtu: is above the MTU of the parent, 1500" in answer.error
    assert node.hooks.called("plan_device") == []
    assert node.hooks.called("setup_device") == []


async def test_bad_parameters_are_refused_with_their_paths(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0", config=(opaque({"podIfName": "a/b", "vlanId": 3}),))
    answer = await node.prepare(claim)
    assert "podIfName" in answer.error
    assert "vlanId" in answer.error
    assert node.hooks.called("setup_device") == []


async def test_a_pod_claim_name_that_leaves_its_folder_is_refused(node: FakeNode) -> None:
    answer = await node.prepare(node.claim("a", "dummy0", pod_claim_name="../../etc"))
    assert "pod-claim-name" in answer.error
    assert empty(await node.left())


async def test_results_of_other_drivers_are_left_alone(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    assert claim.results is not None
    foreign = AllocationResult(request="gpu", driver="gpu.example.com", pool="x", device="g0")
    claim = replace(claim, results=(foreign, *claim.results))
    node.source.put(claim)
    answer = await node.prepare(claim)
    assert [device.device for device in answer.devices] == ["dummy0"]


async def test_a_claim_without_a_device_of_ours_is_prepared_with_no_devices(node: FakeNode) -> None:
    answer = await node.prepare(node.claim("a"))
    assert (answer.error, answer.devices) == ("", ())


async def test_an_unallocated_claim_is_refused(node: FakeNode) -> None:
    answer = await node.prepare(node.claim("a", results=None))
    assert "not allocated" in answer.error


async def test_a_device_held_by_another_claim_is_refused_with_the_holder(node: FakeNode) -> None:
    await node.prepare(node.claim("a", "dummy0"))
    answer = await node.prepare(node.claim("b", "dummy0"))
    assert "dummy0" in answer.error
    assert "default/a" in answer.error


async def test_shares_of_one_device_do_not_exclude_each_other(node_of: Callable[..., FakeNode]) -> None:
    node = node_of(FakeManager(inventory=Inventory(devices=devices("eth9", shareable=True))))
    a, b = node.claim("a", f"eth9@{SHARE_A}"), node.claim("b", f"eth9@{SHARE_B}")
    answers = await node.claims.prepare([a.ref, b.ref])
    assert [answer.error for answer in answers.values()] == ["", ""]
    assert [answer.devices[0].share_id for answer in answers.values()] == [SHARE_A, SHARE_B]
    assert node.hooks.set_up == {("dummy", "eth9", SHARE_A), ("dummy", "eth9", SHARE_B)}
    again = await node.prepare(node.claim("c", f"eth9@{SHARE_A}"))
    assert "default/a" in again.error
    dedicated = await node.prepare(node.claim("d", "eth9"))
    assert "eth9" in dedicated.error


async def test_admin_access_sets_nothing_up_and_holds_nothing(node: FakeNode) -> None:
    claim = node.claim("admin", "dummy0")
    assert claim.results is not None
    claim = replace(claim, results=tuple(replace(result, admin_access=True) for result in claim.results))
    node.source.put(claim)
    answer = await node.prepare(claim)
    assert answer.error == ""
    assert len(answer.devices[0].cdi_device_ids) == 1  # nothing to attach, so no guard
    assert node.hooks.set_up == set()
    assert (await node.prepare(node.claim("a", "dummy0"))).error == ""
    assert await node.unprepare(claim) == ""
    assert node.hooks.called("free_device") == []


async def test_metadata_ids_go_with_the_first_device_of_their_request(node: FakeNode) -> None:
    node.hooks.writers = (WrittenMetadata(cdi_devices={"net": ("v/metadata=net",), "r1": ("v/metadata=r1",)}),)
    claim = node.claim("a", "dummy0", "dummy1")
    assert claim.results is not None
    claim = replace(
        claim,
        results=(
            claim.results[0],
            replace(claim.results[1], request="r1/fast"),
            replace(claim.results[1], request="r1/fast", device="dummy2"),
        ),
    )
    node.source.put(claim)
    answer = await node.prepare(claim)
    assert [device.requests for device in answer.devices] == [("net",), ("r1",), ("r1",)]
    assert [device.cdi_device_ids[2:] for device in answer.devices] == [("v/metadata=net",), ("v/metadata=r1",), ()]


async def test_a_failed_free_keeps_the_row_and_a_retry_ends_it(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0", "dummy1")
    await node.prepare(claim)
    node.hooks.fail("free_device", DeviceError("busy"), device="dummy1")
    error = await node.unprepare(claim)
    assert "dummy1" in error
    assert "busy" in error
    (row,) = node.ledger.allocations()
    assert (row.key.device, row.state) == ("dummy1", AllocationState.FREEING)
    assert "busy" in row.failure
    assert await node.unprepare(claim) == ""
    assert empty(await node.left())


async def test_files_that_cannot_be_removed_keep_the_claim(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node.hooks.fail("remove_metadata", DeviceError("read-only file system"))
    assert "read-only" in await node.unprepare(claim)
    assert len(node.ledger.allocations()) == 1
    assert await node.unprepare(claim) == ""
    assert empty(await node.left())


async def test_a_device_that_is_being_freed_is_waited_for(node: FakeNode) -> None:
    first, second = node.claim("a", "dummy0"), node.claim("b", "dummy0")
    await node.prepare(first)
    gate = node.hooks.hold("free_device")
    leaving = asyncio.create_task(node.unprepare(first))
    await node.clock.settle()
    coming = asyncio.create_task(node.prepare(second))
    await node.clock.advance(5)
    assert not coming.done()
    gate.set()
    assert await leaving == ""
    assert (await coming).error == ""


async def test_waiting_for_a_device_ends_before_the_kubelet_gives_up(node: FakeNode) -> None:
    first = node.claim("a", "dummy0")
    await node.prepare(first)
    node.hooks.hold("free_device")
    leaving = asyncio.create_task(node.unprepare(first))
    coming = asyncio.create_task(node.prepare(node.claim("b", "dummy0")))
    await node.clock.advance(44)
    assert "default/a" in (await coming).error
    leaving.cancel()
    node.hooks.hold("free_device").set()
    await node.claims.drain()


async def test_the_same_name_with_a_new_uid_waits_for_the_old_claim(node: FakeNode) -> None:
    old = node.claim("a", "dummy0")
    await node.prepare(old)
    new = node.claim("a", "dummy0", uid="uid-new")
    coming = asyncio.create_task(node.prepare(new))
    await node.clock.advance(3)
    assert not coming.done()
    assert await node.unprepare(old) == ""
    assert (await coming).error == ""


async def test_another_allocation_of_the_same_claim_frees_the_former(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    again = node.claim("a", "dummy1")
    assert (await node.prepare(again)).error == ""
    assert node.hooks.set_up == {("dummy", "dummy1", "")}
    assert [row.key.device for row in node.ledger.allocations()] == ["dummy1"]


async def test_further_pods_of_a_prepared_claim_are_noted(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    claim = replace(claim, reserved_for=(*claim.reserved_for, pod_consumer("other")))
    node.source.put(claim)
    await node.prepare(claim)
    assert [row.key.device for row in node.ledger.of_pod("other-uid")] == ["dummy0"]


async def test_an_interrupted_prepare_is_freed_with_its_plan_before_the_next(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    (row,) = node.ledger.allocations()
    # As a crash in the middle of setup leaves it: intent on disk, no result.
    node.ledger.put_allocations([replace(row, state=AllocationState.FREEING)])
    node.ledger.delete_allocations([row.key])
    node.ledger.put_allocations([replace(row, state=AllocationState.PREPARING, prepared=None)])
    assert (await node.prepare(claim)).error == ""
    assert node.hooks.called("free_device") == ["dummy0"]
    assert node.hooks.called("setup_device") == ["dummy0", "dummy0"]


async def test_a_missing_plugin_is_named_and_release_is_the_way_out(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    await node.sandboxes.run_sandbox(node.sandbox(claim), 2)
    fake = node.hooks.fakes.pop("dummy")
    error = await node.unprepare(claim)
    assert "dragoman-dummy 1.0" in error
    assert f"dragoman allocations release {claim.uid}" in error
    assert node.links.restored == [{"name": "dummy0", "identity": "tag:dummy0"}]
    await node.claims.release(claim.uid)
    assert list(node.ledger.allocations()) == []
    node.hooks.fakes["dummy"] = fake


async def test_ten_concurrent_claims_for_the_same_devices_end_with_one_holder_each(node: FakeNode) -> None:
    claims = [node.claim(f"c{index}", "dummy0", "dummy1") for index in range(10)]
    answers = await node.claims.prepare([claim.ref for claim in claims])
    assert sorted(bool(answer.error) for answer in answers.values()) == [False] + [True] * 9
    assert len(node.ledger.allocations()) == 2


async def test_a_claim_for_another_nodes_pool_is_refused(node: FakeNode) -> None:
    result = AllocationResult(request="net", driver=DRIVER, pool="node-2", device="dummy0")
    answer = await node.prepare(node.claim("a", results=(result,)))
    assert "node-2" in answer.error
