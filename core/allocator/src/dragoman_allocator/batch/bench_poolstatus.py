"""Kind ``bench``, ``"bench": "poolstatus"``: how long the status of pools takes once the objects are read."""

from __future__ import annotations

import time

from dragoman_allocator.batch.line import Line
from dragoman_allocator.batch.poolstatus import World
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.pool_status import PoolIncomplete


def answer(line: Line) -> JsonObject:
    """Answer with ``elapsedMs`` and what the status counts. Raises ``InvalidInput``."""
    world = World.of(line)
    begin = time.perf_counter()
    try:
        status = world.status()
    except PoolIncomplete as incomplete:
        raise InvalidInput(f"nothing can be measured: {incomplete}") from None
    elapsed = time.perf_counter() - begin
    pools = status.pools or []
    return {
        "elapsedMs": elapsed * 1000,
        "poolCount": status.pool_count,
        "devices": sum(pool.total_devices or 0 for pool in pools),
        "allocated": sum(pool.allocated_devices or 0 for pool in pools),
    }
