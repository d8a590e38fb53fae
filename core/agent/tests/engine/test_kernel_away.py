"""A namespace that cannot be looked at, for want of descriptors for example: it costs nothing but what is in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dragoman.engine.orphans import Orphans
from dragoman_hookspecs import DeviceError, Netns
from dragoman_testkit.fakes.links import MemoryLinks
from dragoman_testkit.fakes.node import FakeNode

from .sandboxworld import BUDGET, prepared, run


class Blind(MemoryLinks):
    """Cannot look at some namespaces."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: set[str] = set()

    async def same_netns(self, netns: Netns) -> bool:
        if netns.path in self.closed:
            raise DeviceError(f"cannot look at the network namespace {netns.path}: Too many open files")
        return await super().same_netns(netns)


@pytest.fixture
def links() -> Blind:
    return Blind()


@pytest.fixture
def node(node_of: Callable[..., FakeNode], links: Blind) -> FakeNode:
    former = node_of()
    former.links = links
    return former.restart()


async def test_other_sandboxes_are_learned(node: FakeNode, links: Blind) -> None:
    claims = [await prepared(node, "a", "dummy0"), await prepared(node, "b", "dummy1")]
    hidden, other = map(node.sandbox, claims)
    await run(node, hidden)
    assert hidden.netns_path is not None
    links.closed.add(hidden.netns_path)
    await node.sandboxes.synchronize([other])
    await node.clock.advance(BUDGET)
    assert node.sandboxes.synchronized.is_set()
    # Nobody knows whether the pod of the first one has ended.
    assert sorted(device for _, device, _ in node.hooks.attached) == ["dummy0", "dummy1"]


async def test_other_claims_are_swept(node: FakeNode, links: Blind) -> None:
    claims = [await prepared(node, "a", "dummy0"), await prepared(node, "b", "dummy1")]
    hidden = node.sandbox(claims[0])
    await run(node, hidden)
    assert hidden.netns_path is not None
    links.closed.add(hidden.netns_path)
    for claim in claims:
        node.source.delete(claim.ref)
    await Orphans(node.parts, node.claims, node.source, node.pod_resources, interval=60, grace=0).sweep()
    assert [row.claim.name for row in node.ledger.allocations()] == ["a"]
