"""Claims whose opaque parameters nest as deep as the API allows: they count as any other."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.objects import ResourceClaim
from dragoman_allocator.pool_status import LeanClaim
from dragoman_pool_status import live
from dragoman_pool_status.kinds import CLAIMS, SLICES
from dragoman_pool_status.world import World

from .memorycluster import MemoryCluster
from .poolobjects import claim, slice_


def deep(name: str, *devices: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for _ in range(2000):
        parameters = {"a": parameters}
    opaque = {"driver": "d", "parameters": parameters}
    return claim(name, *devices) | {"spec": {"devices": {"config": [{"opaque": opaque}]}}}


class Listing(MemoryCluster):
    """Lists these claims, which are too deep to be copied."""

    def __init__(self, *claims: dict[str, Any]) -> None:
        super().__init__(CLAIMS)
        self._claims = list(claims)

    def get(self, path: str) -> dict[str, Any]:
        return {"metadata": {}, "items": self._claims}


@pytest.mark.parametrize("kind", [LeanClaim, ResourceClaim])
def test_a_deep_claim_is_read_with_the_others_of_its_page(kind: type[LeanClaim | ResourceClaim]) -> None:
    found = live.everything(Listing(claim("a", "d1"), deep("b", "d2")), CLAIMS, kind)
    assert [
        each.status.allocation and [r.device for r in each.status.allocation.devices.results or ()] for each in found
    ] == [
        ["d1"],
        ["d2"],
    ]


def test_the_device_of_a_deep_claim_is_allocated_to_a_controller() -> None:
    world = World()
    world.event(SLICES, "ADDED", slice_())
    world.event(CLAIMS, "ADDED", deep("b", "d2"))
    (pool,) = world.pools()
    assert pool.allocated_devices == 1
