"""SQLite behind what the ledger needs: durable transactions, and errors that say what it means for the ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.store.errors import LedgerDamaged, LedgerFault

FaultPoint = Callable[[str], None]
"""Called with ``before <label>`` and ``after <label>`` around every commit. The crash test ends the process there."""

_PRIMARY_CODE = 0xFF
"""SQLite puts the details of an error into the upper bits of its code."""
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

# NORMAL may lose the last commits of a WAL with the power; a side effect would then have no row.
_DURABLE = "PRAGMA synchronous=FULL"
_UNTIL_POWER_FAILS = "PRAGMA synchronous=NORMAL"


class Database:
    """One connection. As with ``sqlite3``, all calls come from the thread that made it.

    Nothing of the file is read before ``prepare``.
    """

    def __init__(self, path: Path, on_commit: FaultPoint) -> None:
        self._path = path
        self._on_commit = on_commit
        with self._translated():
            self._connection = sqlite3.connect(path, isolation_level=None)

    def prepare(self, journal: str = "WAL") -> None:
        """Make commits durable. Raises ``LedgerDamaged`` or ``LedgerFault``."""
        with self._translated():
            self._connection.execute(f"PRAGMA journal_mode={journal}")
            self._connection.execute(_DURABLE)
            self._connection.execute("PRAGMA foreign_keys=ON")

    def close(self) -> None:
        """Close the connection, which also folds the log into the main file; closing again does nothing."""
        with self._translated():
            self._connection.close()

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Read all rows of a statement. Raises ``LedgerDamaged`` or ``LedgerFault``."""
        with self._translated():
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                # The statements are fixed, so they can only fail where tables are not as every version has them
                # (SQLITE_ERROR), or where text is not UTF-8 (no code).
                if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR:
                    raise LedgerDamaged(f"ledger {self._path} is damaged: {error}") from error
                raise

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Run one statement inside a ``transaction``."""
        self._connection.execute(statement, values)

    @contextmanager
    def transaction(self, label: str, *, durable: bool = True) -> Iterator[None]:
        """Commit what the block does, or undo all of it. Raises ``LedgerDamaged`` or ``LedgerFault``.

        What is not ``durable`` outlives this process all the same, but not the power: the disk is not waited for.
        """
        with self._translated():
            self._connection.execute(_DURABLE if durable else _UNTIL_POWER_FAILS)
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._on_commit(f"before {label}")
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self._on_commit(f"after {label}")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            # SQLite quotes what it cannot read, and Python cannot read that either.
            raise LedgerDamaged(f"ledger {self._path} is damaged: {error}") from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code is not None and code & _PRIMARY_CODE in _DAMAGE:
                raise LedgerDamaged(f"ledger {self._path} is damaged: {error}") from error
            raise LedgerFault(f"ledger {self._path} cannot be used: {error}") from error
