"""What to delete, update and create so that the slices of a pool become as wanted. Pure.

The rules of generations (node-side DRA, ResourceSlice controller of the Go helper): consumers use a pool only when the
slices of its highest generation are complete, so one update alone may keep the generation; anything more raises it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from dragoman.kube.slice_json import index_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSlice:
    """A slice as the server has it, fields that this program does not know included."""

    metadata: dict[str, Any]
    spec: dict[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """Name of the object."""
        return str(self.metadata.get("name"))

    @property
    def uid(self) -> str:
        """UID of the object."""
        return str(self.metadata.get("uid"))

    @property
    def resource_version(self) -> str:
        """Version of this form of the object."""
        return str(self.metadata.get("resourceVersion"))

    @property
    def pool(self) -> tuple[str, int, int]:
        """Name, generation and slice count of its pool."""
        pool = self.spec.get("pool") or {}
        return str(pool.get("name")), int(pool.get("generation") or 0), int(pool.get("resourceSliceCount") or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicePlan:
    """Deletions come first, then updates, then creations; all of the latter two carry the generation."""

    generation: int
    deletes: tuple[StoredSlice, ...]
    updates: tuple[tuple[int, StoredSlice], ...]
    creates: tuple[int, ...]


def make_plan(
    pool: str,
    wanted: Collection[int],
    existing: Iterable[StoredSlice],
    same: Callable[[int, StoredSlice], bool],
) -> SlicePlan:
    """Plan for slices with the given indices; ``same(index, slice)`` compares contents."""
    stored = tuple(existing)
    current = max((s.pool[1] for s in stored if s.pool[0] == pool), default=0)
    matched = match(pool, wanted, stored)
    header = (pool, current, len(wanted))
    changed = {index for index, s in matched.items() if s.pool != header or not same(index, s)}
    creates = tuple(sorted(set(wanted) - set(matched)))
    bump = bool(creates) or len(changed) > 1
    kept = {s.name for s in matched.values()}
    return SlicePlan(
        generation=current + 1 if bump else current,
        deletes=tuple(s for s in stored if s.name not in kept),
        updates=tuple((index, s) for index, s in sorted(matched.items()) if bump or index in changed),
        creates=creates,
    )


def match(pool: str, wanted: Collection[int], existing: Iterable[StoredSlice]) -> dict[int, StoredSlice]:
    """Find for each index the slice of the pool that carries it: the newest generation, then the first name."""
    found: dict[int, StoredSlice] = {}
    for candidate in sorted(existing, key=lambda s: (-s.pool[1], s.name)):
        index = index_of(candidate.name)
        if index is not None and index in wanted and candidate.pool[0] == pool:
            found.setdefault(index, candidate)
    return found
