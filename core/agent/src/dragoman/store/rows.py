"""Statements and codecs of the two tables: what a row is in SQLite, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman.store import codec, seal
from dragoman.store.database import Database
from dragoman.store.schema import ALLOCATION_KEY, ATTACHMENT_KEY


class Row(Protocol):
    """What every row has."""

    @property
    def key(self) -> Any:
        """Its primary key."""

    @property
    def state(self) -> Any:
        """Its state, a ``StrEnum``."""


K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=Row)

_IN_COLUMNS = ("key", "state")


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row that is not as it was written. ``allocation`` has the bytes of its first key columns, as they stand."""

    table: str
    allocation: tuple[bytes, ...]
    fault: str
    document: bytes = b""

    @property
    def claim_uid(self) -> str:
        """UID of its claim, unless that is what is damaged."""
        return self.allocation[0].decode(errors="replace")

    def __str__(self) -> str:
        key = b" ".join(self.allocation).decode(errors="replace")
        return f"{self.table}, {key}: {self.fault}; it reads {self.document.decode(errors='replace')}"


@dataclass(frozen=True, slots=True)
class Layout(Generic[K, R]):
    """One table of rows. ``decode`` makes a row of key columns, state and document.

    ``durable`` False: rows mean something within one boot only, so their commits need not outlive the power.
    """

    table: str
    columns: tuple[str, ...]
    order: str
    to_columns: Callable[[K], Sequence[str]]
    decode: Callable[[Sequence[str], str, bytes], R]
    durable: bool = True

    def read(self, database: Database) -> Iterable[R | Damaged]:
        """Read all rows. Raises ``LedgerDamaged`` where the table is not ours."""
        # As bytes: SQLite gives none of the rows where one has text that is not UTF-8.
        names = ", ".join(f"CAST({name} AS BLOB)" for name in (*self.columns, "state", "document"))
        for *columns, document in database.query(
            f"SELECT {names} FROM {self.table} ORDER BY {self.order}"  # noqa: S608 - constants above
        ):
            try:
                *key, state = texts = [column.decode() for column in columns]
                yield self.decode(key, state, seal.opened(texts, document))
            except (codec.Malformed, msgspec.MsgspecError, ValueError, TypeError) as error:
                yield Damaged(self.table, tuple(columns[: len(ALLOCATION_KEY)]), str(error), document)

    def encoded(self, row: R) -> tuple[Sequence[Any], R]:
        """Give the columns of a row, and the row as it will be read back."""
        columns = [*self.to_columns(row.key), row.state.value]
        document = codec.dump(row, without=_IN_COLUMNS)
        return [*columns, seal.sealed(columns, document)], self.decode(columns[:-1], columns[-1], document)

    def write(self, database: Database, columns: Sequence[Any]) -> None:
        """Insert or update by name: columns that a newer minor release added keep their values."""
        names = [*self.columns, "state", "document"]
        marks = ", ".join("?" * len(names))
        database.execute(
            f"INSERT INTO {self.table} ({', '.join(names)}) VALUES ({marks}) "  # noqa: S608 - constants above
            f"ON CONFLICT ({', '.join(self.columns)}) DO UPDATE SET state=excluded.state, document=excluded.document",
            columns,
        )

    def delete(self, database: Database, key: K) -> None:
        """Delete one row."""
        condition = " AND ".join(f"{name}=?" for name in self.columns)
        database.execute(f"DELETE FROM {self.table} WHERE {condition}", self.to_columns(key))  # noqa: S608 - constants


def drop(database: Database, allocation: Sequence[bytes]) -> None:
    """Delete an allocation with its attachments, by the bytes of its key whatever they are."""
    condition = " AND ".join(f"CAST({name} AS BLOB)=?" for name in ALLOCATION_KEY)
    for table in (ATTACHMENTS.table, ALLOCATIONS.table):
        database.execute(f"DELETE FROM {table} WHERE {condition}", allocation)  # noqa: S608 - constants


def as_bytes(key: AllocationKey) -> tuple[bytes, ...]:
    """Give the bytes of a key, as ``Damaged`` has them."""
    return tuple(column.encode() for column in _allocation_columns(key))


def _allocation_columns(key: AllocationKey) -> Sequence[str]:
    return [getattr(key, name) for name in ALLOCATION_KEY]


def _attachment_columns(key: AttachmentKey) -> Sequence[str]:
    return [*_allocation_columns(key.allocation), key.sandbox_id]


def _allocation_key(columns: Sequence[str]) -> AllocationKey:
    return msgspec.convert(dict(zip(ALLOCATION_KEY, columns, strict=True)), AllocationKey)


def _attachment_key(columns: Sequence[str]) -> AttachmentKey:
    *allocation, sandbox_id = columns
    return AttachmentKey(allocation=_allocation_key(allocation), sandbox_id=msgspec.convert(sandbox_id, str))


def _allocation_row(columns: Sequence[str], state: str, document: bytes) -> AllocationRow:
    return codec.load(AllocationRow, document, key=_allocation_key(columns), state=AllocationState(state))


def _attachment_row(columns: Sequence[str], state: str, document: bytes) -> AttachmentRow:
    return codec.load(AttachmentRow, document, key=_attachment_key(columns), state=AttachmentState(state))


ALLOCATIONS: Layout[AllocationKey, AllocationRow] = Layout(
    "allocations", ALLOCATION_KEY, ", ".join(ALLOCATION_KEY), _allocation_columns, _allocation_row
)
ATTACHMENTS: Layout[AttachmentKey, AttachmentRow] = Layout(
    "attachments", ATTACHMENT_KEY, "sequence", _attachment_columns, _attachment_row, durable=False
)
