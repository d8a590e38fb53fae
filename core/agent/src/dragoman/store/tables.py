"""A table on disk with its copy in memory, and the rule of which state may follow which."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from dragoman.model.states import IllegalTransition
from dragoman.store.database import Database
from dragoman.store.memory import Index
from dragoman.store.rows import Damaged, K, Layout, R

S = TypeVar("S", bound=enum.StrEnum)


class Table(Generic[K, R, S]):
    """Writes to disk first, then to memory; reads from memory. ``check(old, new)`` raises ``IllegalTransition``."""

    def __init__(
        self,
        layout: Layout[K, R],
        check: Callable[[S | None, S | None], None],
        **groupings: Callable[[R], Iterable[Hashable]],
    ) -> None:
        self._layout = layout
        self._check = check
        self._index: Index[K, R] = Index(**groupings)

    def load(self, database: Database) -> list[Damaged]:
        """Read the whole table, and give the rows that are damaged. Raises ``LedgerDamaged``."""
        damaged = []
        for row in self._layout.read(database):
            if isinstance(row, Damaged):
                damaged.append(row)
            else:
                self._index.put(row.key, row)
        return damaged

    def rows(self) -> Sequence[R]:
        """List all rows in the order in which they came."""
        return list(self._index)

    def get(self, key: K) -> R | None:
        """Find one row."""
        return self._index.get(key)

    def group(self, grouping: str, name: Hashable) -> Sequence[R]:
        """List the rows of one group, in the order in which they came."""
        return self._index.group(grouping, name)

    def put(self, database: Database, rows: Sequence[R]) -> None:
        """Insert or replace rows in one transaction, or none of them."""
        states: dict[Hashable, S | None] = {}
        for row in rows:
            key, new = row.key, row.state
            old = states[key] if key in states else self._state_of(key)
            if old is not new:
                self._permit(key, old, new)
            states[key] = new
        if not rows:
            return
        with database.transaction(f"put {self._layout.table}", durable=self._layout.durable):
            written = self.write(database, rows)
        self.take(written)

    def write(self, database: Database, rows: Sequence[R]) -> Sequence[R]:
        """Write rows within a transaction, whatever their state; give them for ``take`` once it has succeeded."""
        encoded = [self._layout.encoded(row) for row in rows]
        for columns, _ in encoded:
            self._layout.write(database, columns)
        return [row for _, row in encoded]

    def forget(self, keys: Iterable[K]) -> None:
        """Show rows no longer that were deleted by other means."""
        for key in keys:
            self._index.remove(key)

    def take(self, rows: Sequence[R]) -> None:
        """Show rows that ``write`` gave."""
        for row in rows:
            self._index.put(row.key, row)

    def delete(self, database: Database, keys: Sequence[K]) -> None:
        """Delete those rows that exist, in one transaction, or none of them."""
        present = [key for key in keys if self._index.get(key)]
        for key in present:
            self._permit(key, self._state_of(key), None)
        if not present:
            return
        with database.transaction(f"delete {self._layout.table}", durable=self._layout.durable):
            for key in present:
                self._layout.delete(database, key)
        for key in present:
            self._index.remove(key)

    def _state_of(self, key: K) -> S | None:
        row = self._index.get(key)
        return None if row is None else row.state

    def _permit(self, key: K, old: S | None, new: S | None) -> None:
        try:
            self._check(old, new)
        except IllegalTransition as error:
            raise IllegalTransition(f"{key}: {error}") from None
