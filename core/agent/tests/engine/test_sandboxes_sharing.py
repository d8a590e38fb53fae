"""Pods that have a claim together: who has its device, and how a further pod is found."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from dragoman_hookspecs import DeviceError, Inventory
from dragoman_testkit.fakes.cluster import MemoryPodClaim
from dragoman_testkit.fakes.hooks import FakeManager
from dragoman_testkit.fakes.node import DRIVER, POOL, FakeNode, devices, pod_consumer

from .sandboxworld import BUDGET, gate, prepared, run

SHARE = "aaaaaaaa-0000-0000-0000-000000000000"


async def test_a_new_sandbox_of_the_same_pod_takes_the_device_over(node: FakeNode) -> None:
    claim = await prepared(node)
    first = node.sandbox(claim)
    await run(node, first)
    second = node.sandbox(claim, number=2)
    await run(node, second)
    assert [row.key.sandbox_id for row in node.ledger.attachments()] == [second.id]
    assert node.hooks.attached == {("dummy", "dummy0", ""): second.netns_path}


@pytest.mark.parametrize("older_first", [True, False])
async def test_a_sandbox_found_running_does_not_take_the_device_from_the_later_one_of_its_pod(
    node: FakeNode, older_first: bool
) -> None:
    claim = await prepared(node)
    old, new = node.sandbox(claim), node.sandbox(claim, number=2)
    await run(node, old)
    await run(node, new)
    node = node.restart()
    await node.sandboxes.synchronize([old, new] if older_first else [new, old])
    await node.clock.advance(60)
    assert [attachment.key.sandbox_id for attachment in node.ledger.attachments()] == [new.id]


@pytest.mark.parametrize("older_first", [True, False])
async def test_a_device_on_its_way_out_of_a_sandbox_goes_to_the_other_one_of_its_pod(
    node: FakeNode, older_first: bool
) -> None:
    claim = await prepared(node)
    old, new = node.sandbox(claim), node.sandbox(claim, number=2)
    await run(node, old)
    node.hooks.fail("detach_device", DeviceError("the link is busy"), times=4)
    await run(node, new)
    node = node.restart()
    await node.sandboxes.synchronize([old, new] if older_first else [new, old])
    await node.clock.advance(60)
    assert [attachment.key.sandbox_id for attachment in node.ledger.attachments()] == [new.id]


async def test_a_sandbox_that_has_ended_keeps_no_device_from_the_one_that_lives(node: FakeNode) -> None:
    claim = await prepared(node)
    ended, living = node.sandbox(claim), node.sandbox(claim, number=2)
    await run(node, ended)
    node.hooks.fail("attach_device", DeviceError("the link is busy"), times=2)
    assert ended.netns_path is not None
    node.links.remove_namespace(ended.netns_path)
    await run(node, living)
    node = node.restart()
    await node.sandboxes.synchronize([ended, living])
    await node.clock.advance(60)
    assert [attachment.key.sandbox_id for attachment in node.ledger.attachments()] == [living.id]


async def test_a_second_pod_of_a_claim_waits_closed_and_follows(node: FakeNode) -> None:
    claim = await prepared(node, pods=("one", "two"))
    one, two = node.sandbox(claim, "one"), node.sandbox(claim, "two")
    await run(node, one)
    await run(node, two)
    said = await gate(node, two) or ""
    assert " waits for dummy0: device dummy0 of claim default/a is attached to pod default/a-one; " in said
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


@pytest.mark.parametrize("told", [SHARE, ""], ids=["told", "not-told-before-1.36"])
async def test_a_further_pod_of_a_share_is_found_whether_the_kubelet_tells_which_share_or_not(
    node_of: Callable[..., FakeNode], told: str
) -> None:
    node = node_of(FakeManager(inventory=Inventory(devices=devices("eth9", shareable=True))))
    claim = await prepared(node, "a", f"eth9@{SHARE}", pod_claim_name=None)

    def of(name: str) -> list[MemoryPodClaim]:
        place = {"driver": DRIVER, "pool": POOL, "device": "eth9"}
        return [MemoryPodClaim(claim_namespace="default", claim_name=name, share_id=told, **place)]

    node.pod_resources.pods["default", "a-late"] = of("other")
    await run(node, node.sandbox(claim, "late", 1))
    assert node.hooks.attached == {}, "the pod's share is one of another claim"
    node.pod_resources.pods["default", "a-late"] = of("a")
    late = node.sandbox(claim, "late", 2)
    await run(node, late)
    assert node.hooks.attached == {("dummy", "eth9", SHARE): late.netns_path}


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
