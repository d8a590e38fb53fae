"""Slices by pool: the newest generation of each, over all nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman_allocator.objects import CounterSet, Device
from dragoman_allocator.pool_status.lean import AnySlice, LeanDevice

PoolKey = tuple[str, str]
"""Driver and name of a pool; pools are sorted by it."""


@dataclass(frozen=True, slots=True)
class PoolSlices:
    """The slices of one pool at its highest generation, in the order in which they were given."""

    driver: str
    name: str
    slices: Sequence[AnySlice]

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"

    @property
    def generation(self) -> int:
        """The generation that all of these slices have."""
        return self.slices[0].spec.pool.generation

    @property
    def expected(self) -> int:
        """How many slices the pool has, as the first one says."""
        return self.slices[0].spec.pool.resource_slice_count

    @property
    def incomplete(self) -> bool:
        """Whether slices are missing; more than expected count as complete (controller of 1.36 and 1.37)."""
        return len(self.slices) < self.expected

    @property
    def node_name(self) -> str | None:
        """The node, if every slice names the same one."""
        names = {each.spec.node_name or None for each in self.slices}
        return names.pop() if len(names) == 1 else None

    @property
    def counter_sets(self) -> list[CounterSet]:
        """The shared counters of all slices."""
        return [each for part in self.slices for each in part.spec.shared_counters or ()]

    def devices(self) -> Iterator[Device | LeanDevice]:
        """Go through the devices of all slices; a name that two slices have comes twice."""
        for part in self.slices:
            yield from part.spec.devices or ()


def gather(slices: Iterable[AnySlice], driver: str | None, pool: str | None) -> dict[PoolKey, PoolSlices]:
    """Group slices by pool, sorted; None (or an empty pool name) takes all drivers or pools."""
    found: dict[PoolKey, list[AnySlice]] = {}
    for each in slices:
        spec = each.spec
        if (driver is not None and spec.driver != driver) or (pool and spec.pool.name != pool):
            continue
        known = found.setdefault((spec.driver, spec.pool.name), [])
        if known and spec.pool.generation > known[0].spec.pool.generation:
            known.clear()
        if not known or spec.pool.generation == known[0].spec.pool.generation:
            known.append(each)
    return {key: PoolSlices(*key, found[key]) for key in sorted(found)}
