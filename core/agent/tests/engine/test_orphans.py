"""Claims that nobody will unprepare."""

from dataclasses import replace

import pytest

from dragoman.engine.orphans import Orphans
from dragoman_hookspecs import DeviceError
from dragoman_testkit.fakes.cluster import MemoryPodClaim
from dragoman_testkit.fakes.node import DRIVER, POOL, FakeNode

GRACE = 300.0


def orphans(node: FakeNode) -> Orphans:
    return Orphans(node.parts, node.claims, node.source, node.pod_resources, interval=60, grace=GRACE)


async def sweep_twice(node: FakeNode) -> None:
    sweeper = orphans(node)
    await sweeper.sweep()
    await node.clock.advance(GRACE)
    await sweeper.sweep()


async def test_a_claim_of_which_nothing_is_left_is_freed_after_the_grace_time(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node.source.delete(claim.ref)
    sweeper = orphans(node)
    await sweeper.sweep()
    await node.clock.advance(GRACE - 1)
    await sweeper.sweep()
    assert len(node.ledger.allocations()) == 1
    await node.clock.advance(1)
    await sweeper.sweep()
    left = await node.left()
    assert not any(left.values()), left


async def test_a_claim_that_exists_is_kept(node: FakeNode) -> None:
    await node.prepare(node.claim("a", "dummy0"))
    await sweep_twice(node)
    assert len(node.ledger.allocations()) == 1


async def test_a_claim_that_is_allocated_no_longer_is_freed_as_one_that_is_gone(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node.source.put(replace(claim, results=None))
    await sweep_twice(node)
    left = await node.left()
    assert not any(left.values()), left


async def test_a_claim_with_a_living_sandbox_is_kept(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    await node.sandboxes.run_sandbox(node.sandbox(claim), 1)
    node.source.delete(claim.ref)
    await sweep_twice(node)
    assert len(node.ledger.allocations()) == 1


async def test_a_claim_that_the_kubelet_knows_is_kept(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node.source.delete(claim.ref)
    node.pod_resources.pods["default", "a-pod"] = [
        MemoryPodClaim(claim_namespace="default", claim_name="a", driver=DRIVER, pool=POOL, device="dummy0")
    ]
    await sweep_twice(node)
    assert len(node.ledger.allocations()) == 1


@pytest.mark.parametrize("away", ["api server", "kubelet"])
async def test_who_cannot_be_asked_is_taken_to_hold_the_claim(node: FakeNode, away: str) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node.source.delete(claim.ref)
    node.source.away = away == "api server"
    node.pod_resources.away = away == "kubelet"
    await sweep_twice(node)
    assert len(node.ledger.allocations()) == 1


async def test_a_failed_free_is_tried_again(node: FakeNode) -> None:
    claim = node.claim("a", "dummy0")
    await node.prepare(claim)
    node.hooks.fail("free_device", DeviceError("busy"))
    assert await node.unprepare(claim) != ""
    await orphans(node).sweep()
    left = await node.left()
    assert not any(left.values()), left
