"""Pools of which a node sees slices but from which nothing can be allocated there, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman_allocator.allocation.node_match import node_matches
from dragoman_allocator.allocation.pools import Condition, Pool, PoolId
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import Device, Node, ResourceSlice, SliceSpec
from dragoman_allocator.reasons.facts import Facts
from dragoman_allocator.reasons.model import Fault, PoolFault


def faults(facts: Facts, node: Node, pools: Sequence[Pool]) -> list[PoolFault]:
    """Give the faults by driver and pool; ``pools`` are those that the allocator gathered for the node."""
    gathered = {pool.id: pool for pool in pools}
    return [
        fault
        for pool_id in facts.pools(node.metadata.name)
        for fault in _fault(facts, node, pool_id, gathered.get(pool_id))
    ]


def _fault(facts: Facts, node: Node, pool_id: PoolId, pool: Pool | None) -> Iterator[PoolFault]:
    driver, name = pool_id
    where = f"pool {driver}/{name}"
    if pool is None:
        slices = facts.slices[pool_id]
        newest = max(each.spec.pool.generation for each in slices)
        here = [each.spec.pool.generation for each in slices if _reaches(each, node)]
        if here and max(here) < newest:
            text = f"{where} is obsolete here: this node's slices have generation {max(here)}, the pool is at {newest}"
            yield PoolFault(driver=driver, pool=name, fault=Fault.OBSOLETE, text=text)
    elif pool.condition is Condition.INCOMPLETE:
        text = f"{where} is incomplete: {_counted(facts, node, pool_id)}"
        yield PoolFault(driver=driver, pool=name, fault=Fault.INCOMPLETE, text=text)
    elif pool.condition is Condition.INVALID:
        text = f"{where} is invalid: {pool.reason}"
        yield PoolFault(driver=driver, pool=name, fault=Fault.INVALID, text=text)


def _counted(facts: Facts, node: Node, pool_id: PoolId) -> str:
    slices = facts.slices[pool_id]
    # Before 1.37, slices with counters concern every node whatever their scope.
    seen = [each.spec.pool for each in slices if _reaches(each, node)] or [each.spec.pool for each in slices]
    newest = max(seen, key=lambda pool: pool.generation)
    current = [each for each in slices if each.spec.pool.generation == newest.generation]
    ignored = 0 if facts.rules.groups else sum(map(_uses_groups, current))
    text = (
        f"there are {len(current) - ignored} of {newest.resource_slice_count} slices of generation {newest.generation}"
    )
    return f"{text}; {ignored} more use compatibility groups, which are off in this cluster" if ignored else text


def _reaches(part: ResourceSlice, node: Node) -> bool:
    spec = part.spec
    if spec.per_device_node_selection:
        return any(_holds(device, node) for device in spec.devices or ())
    return _holds(spec, node)


def _holds(scope: Device | SliceSpec, node: Node) -> bool:
    try:
        return node_matches(node, scope.node_name, scope.all_nodes, scope.node_selector)
    except InvalidInput:
        return False


def _uses_groups(part: ResourceSlice) -> bool:
    return any(
        consumption.compatibility_groups
        for device in part.spec.devices or ()
        for consumption in device.consumes_counters or ()
    )
