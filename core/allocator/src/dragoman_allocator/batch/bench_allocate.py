"""Kind ``bench``, ``"bench": "allocate"``: how long it takes to place many claims, one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dragoman_allocator.allocation import Allocator
from dragoman_allocator.batch.allocate import World
from dragoman_allocator.batch.line import Line
from dragoman_allocator.errors import AllocationFailed, FailedOnNode, InvalidInput
from dragoman_allocator.objects import Node, ResourceClaim
from dragoman_allocator.objects.meta import JsonObject


def answer(line: Line) -> JsonObject:
    """Answer with ``elapsedMs`` and counts. Raises ``InvalidInput``."""
    nodes = line.objects("nodes", Node)
    claims = line.objects("claims", ResourceClaim)
    world = World.of(line)
    begin = time.perf_counter()
    allocator = world.allocator()
    steps = placed = 0
    try:
        for index, claim in enumerate(claims):
            taken, found = _place(allocator, claim, nodes, index)
            steps += taken
            placed += found
    except AllocationFailed as failure:
        raise InvalidInput(f"nothing can be measured: {failure}") from None
    elapsed = (time.perf_counter() - begin) * 1000
    return {"elapsedMs": elapsed, "claims": len(claims), "nodes": len(nodes), "placed": placed, "steps": steps}


def _place(allocator: Allocator, claim: ResourceClaim, nodes: Sequence[Node], first: int) -> tuple[int, bool]:
    """Try the nodes from ``first`` on; give the steps of all searches and whether one had room."""
    steps = 0
    for offset in range(len(nodes)):
        try:
            outcome = allocator.allocate([claim], nodes[(first + offset) % len(nodes)])
        except FailedOnNode:
            continue
        steps += outcome.steps
        if outcome.results is not None:
            allocator.assume(claim, outcome.results[0])
            return steps, True
    return steps, False
