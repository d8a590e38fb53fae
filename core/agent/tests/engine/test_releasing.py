"""Claims that a person gives up: what takes a device from a running pod is refused unless it is meant."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from dragoman.engine.releasing import Ambiguous, InUse, Released, Taken, uid_of
from dragoman.engine.reporting import SETTLE
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import DeviceError
from dragoman_testkit.fakes.node import FakeNode

from .sandboxworld import BUDGET, prepared, run


async def test_a_device_in_a_running_pod_is_not_taken_and_the_refusal_names_claim_device_pod_and_ways_out(
    node: FakeNode,
) -> None:
    claim = await prepared(node, "a", "dummy0", "dummy1")
    await run(node, node.sandbox(claim))
    guards = await node.guards()
    with pytest.raises(InUse) as refused:
        await node.claims.release(claim.uid)
    assert all(
        word in str(refused.value)
        for word in (
            "claim default/a ",
            "device dummy0",
            "device dummy1",
            "pod default/a-pod",
            "delete the pod",
            "--force",
        )
    )
    assert {row.state for row in node.ledger.allocations()} == {AllocationState.PREPARED}
    assert {each.state for each in node.ledger.attachments()} == {AttachmentState.ATTACHED}
    assert await node.guards() == guards
    assert node.hooks.called("detach_device") == []


async def test_a_device_that_is_meant_to_be_taken_from_its_pod_is_and_the_answer_names_both(node: FakeNode) -> None:
    claim = await prepared(node)
    await run(node, node.sandbox(claim))
    released = await node.claims.release(claim.uid, from_pods=True)
    assert released == Released(
        claim="default/a", devices=("dummy0",), taken=(Taken(device="dummy0", pod="default/a-pod"),)
    )
    assert not any((await node.left()).values())


async def test_a_claim_that_is_in_no_pod_is_given_up_and_named(node: FakeNode) -> None:
    claim = await prepared(node, "a", "dummy0", "dummy1")
    assert await node.claims.release(claim.uid) == Released(claim="default/a", devices=("dummy0", "dummy1"))
    assert not any((await node.left()).values())


async def test_a_pod_whose_network_namespace_has_ended_keeps_no_claim_from_being_given_up(node: FakeNode) -> None:
    claim = await prepared(node)
    await run(node, node.sandbox(claim))
    node.links.remove_namespace("/run/netns/a-pod-1")
    assert (await node.claims.release(claim.uid)).taken == ()
    assert list(node.ledger.allocations()) == []


async def test_a_device_that_cannot_be_detached_from_a_pod_that_ends_is_given_up_without_force(node: FakeNode) -> None:
    claim = await prepared(node)
    sandbox = node.sandbox(claim)
    await run(node, sandbox)
    node.hooks.fail("detach_device", DeviceError("stuck"))
    stopping = asyncio.create_task(node.sandboxes.stop_sandbox(sandbox, BUDGET))
    await node.clock.settle()
    assert [each.state for each in node.ledger.attachments()] == [AttachmentState.DETACHING]
    assert (await node.claims.release(claim.uid)).devices == ("dummy0",)
    await node.clock.advance(BUDGET)
    await stopping


async def test_a_claim_that_is_being_freed_is_given_up_without_force(node: FakeNode) -> None:
    claim = await prepared(node)
    await run(node, node.sandbox(claim))
    # As an unprepare leaves it whose first step, closing the guard, failed.
    node.ledger.put_allocations(
        [replace(row, state=AllocationState.FREEING) for row in node.ledger.of_claim(claim.uid)]
    )
    assert (await node.claims.release(claim.uid)).devices == ("dummy0",)
    assert list(node.ledger.allocations()) == []


async def test_a_device_on_its_way_into_a_pod_is_waited_for_and_then_the_pods(node: FakeNode) -> None:
    claim = await prepared(node)
    attach = node.hooks.hold("attach_device")
    starting = asyncio.create_task(node.sandboxes.run_sandbox(node.sandbox(claim), BUDGET))
    await node.clock.settle()
    releasing = asyncio.create_task(node.claims.release(claim.uid))
    await node.clock.settle()
    assert not releasing.done()
    attach.set()
    with pytest.raises(InUse, match="device dummy0 is attached to pod default/a-pod"):
        await releasing
    await starting
    assert [each.state for each in node.ledger.attachments()] == [AttachmentState.ATTACHED]


async def test_the_kubelet_is_not_refused_because_a_person_is(node: FakeNode) -> None:
    claim = await prepared(node)
    await run(node, node.sandbox(claim))
    released, error = await asyncio.gather(
        node.claims.release(claim.uid), node.unprepare(claim), return_exceptions=True
    )
    assert isinstance(released, InUse)
    assert error == ""
    assert list(node.ledger.allocations()) == []


async def test_the_status_of_a_claim_that_was_given_up_is_taken_back(node: FakeNode) -> None:
    reporting = asyncio.create_task(node.reporting.run())
    claim = await prepared(node)
    await run(node, node.sandbox(claim))
    await node.clock.advance(SETTLE)
    await node.claims.release(claim.uid, from_pods=True)
    await node.clock.advance(SETTLE)
    assert [len(status.devices) for status in node.status.writes] == [1, 0]
    assert node.status.writes[-1].claim == claim.ref
    reporting.cancel()


async def test_a_claim_is_meant_by_its_uid_or_its_name(node: FakeNode) -> None:
    claim = await prepared(node)
    assert uid_of(node.ledger, claim.uid) == claim.uid
    assert uid_of(node.ledger, "default/a") == claim.uid
    assert uid_of(node.ledger, "other/a") == "other/a"
    assert await node.claims.release("other/a") == Released()


async def test_a_name_that_two_claims_have_is_refused_with_their_uids(node: FakeNode) -> None:
    # The former claim of that name is stuck, and the next one is there already.
    await prepared(node, "a", "dummy0", uid="older")
    await prepared(node, "a", "dummy1", uid="newer")
    with pytest.raises(Ambiguous, match=r"claim default/a .*: newer, older$"):
        uid_of(node.ledger, "default/a")
