"""Rows in memory, found by key and by the groups that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

Grouping = Callable[[R], Iterable[Hashable]]
"""Gives the names of the groups that a row belongs to."""


class Index(Generic[K, R]):
    """Rows in the order in which their keys came first; groups keep that order and cost nothing once empty."""

    def __init__(self, **groupings: Grouping[R]) -> None:
        self._rows: dict[K, R] = {}
        self._groupings = groupings
        self._groups: dict[tuple[str, Hashable], dict[K, None]] = {}

    def __iter__(self) -> Iterator[R]:
        return iter(self._rows.values())

    def get(self, key: K) -> R | None:
        """Find a row."""
        return self._rows.get(key)

    def put(self, key: K, row: R) -> None:
        """Insert or replace a row. One that is replaced keeps its place."""
        old = self._rows.get(key)
        self._rows[key] = row
        before, after = set(self._groups_of(old)), list(self._groups_of(row))
        for group in before.difference(after):
            self._leave(group, key)
        for group in after:
            self._groups.setdefault(group, {})[key] = None

    def remove(self, key: K) -> None:
        """Remove a row; absent is success."""
        for group in set(self._groups_of(self._rows.pop(key, None))):
            self._leave(group, key)

    def group(self, grouping: str, name: Hashable) -> list[R]:
        """List the rows of one group."""
        return [self._rows[key] for key in self._groups.get((grouping, name), ())]

    def _groups_of(self, row: R | None) -> Iterator[tuple[str, Hashable]]:
        if row is None:
            return
        for grouping, names in self._groupings.items():
            for name in names(row):
                yield grouping, name

    def _leave(self, group: tuple[str, Hashable], key: K) -> None:
        members = self._groups[group]
        del members[key]
        if not members:
            del self._groups[group]
