"""The tables of the ledger, their version, and the steps from one version to the next.

A version is *major.minor*, kept in the header of the file (``user_version``) where any program can read it whatever
the tables look like. Within a major number a step may only add: tables, indexes, columns with a default, keys of the
documents with a default. So a program reads and writes a file of any minor number of its major number, an older
release may follow a newer one, and two may hand over to each other during an update. What is not an addition gets a
new major number, which older programs refuse.

Documents hold the rows except for their key and their state, which are columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dragoman.store.database import Database
from dragoman.store.errors import LedgerDamaged, LedgerTooNew

APPLICATION_ID = 0x4452474D
"""Marks the file as a ledger of Dragoman ("DRGM"), in the header of the file."""
_MINOR_BITS = 16

ALLOCATION_KEY = ("claim_uid", "request", "driver", "pool", "device", "share_id")
"""Key columns, in the order of the fields of ``AllocationKey``."""
ATTACHMENT_KEY = (*ALLOCATION_KEY, "sandbox_id")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Version of the schema."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @property
    def number(self) -> int:
        """How the version stands in the header of the file."""
        return self.major << _MINOR_BITS | self.minor

    @classmethod
    def of_number(cls, number: int) -> Version:
        """Read it from the header of the file."""
        return cls(number >> _MINOR_BITS, number & (1 << _MINOR_BITS) - 1)


_ALLOCATION_COLUMNS = ", ".join(f"{name} TEXT NOT NULL" for name in ALLOCATION_KEY)

STEPS: Mapping[Version, tuple[str, ...]] = {
    Version(1, 0): (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        f"""CREATE TABLE allocations (
            {_ALLOCATION_COLUMNS},
            state TEXT NOT NULL,
            document BLOB NOT NULL,
            PRIMARY KEY ({", ".join(ALLOCATION_KEY)})
        ) WITHOUT ROWID""",
        # The sequence keeps the order in which devices were attached.
        f"""CREATE TABLE attachments (
            sequence INTEGER PRIMARY KEY,
            {_ALLOCATION_COLUMNS},
            sandbox_id TEXT NOT NULL,
            state TEXT NOT NULL,
            document BLOB NOT NULL,
            UNIQUE ({", ".join(ATTACHMENT_KEY)}),
            FOREIGN KEY ({", ".join(ALLOCATION_KEY)}) REFERENCES allocations
        )""",
    ),
}
"""What leads to each version from the one before. A released step never changes."""


def create(database: Database, facts: Mapping[str, str], steps: Mapping[Version, tuple[str, ...]] = STEPS) -> None:
    """Make the tables in an empty file, with facts for ``meta``, in one transaction."""
    with database.transaction("create"):
        database.execute(f"PRAGMA application_id={APPLICATION_ID}")
        _run(database, sorted(steps), steps)
        for key, value in facts.items():
            database.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (key, value))


def upgrade(database: Database, path: Path, steps: Mapping[Version, tuple[str, ...]] = STEPS) -> Version:
    """Bring the tables to the newest version that this program knows, in one transaction, and give the file's version.

    A file of a newer minor number is left as it is. Raises ``LedgerTooNew``, or ``LedgerDamaged`` where the file is
    no ledger at all.
    """
    known = max(steps)
    version = _version(database, path)
    if version.major > known.major:
        raise LedgerTooNew(
            f"ledger {path} has schema {version} and this program knows schemas up to {known.major}.x: start the "
            "release that wrote it or a newer one; the file was not touched"
        )
    missing = [step for step in sorted(steps) if step > version]
    if missing:
        with database.transaction(f"upgrade to {known}"):
            _run(database, missing, steps)
    return max(version, known)


def verify(database: Database, path: Path) -> None:
    """Raise ``LedgerDamaged`` unless SQLite finds the file whole."""
    findings = [str(finding) for (finding,) in database.query("PRAGMA quick_check(1)")]
    if findings != ["ok"]:
        raise LedgerDamaged(f"ledger {path} is damaged: {'; '.join(findings)}")


def _version(database: Database, path: Path) -> Version:
    ((application,),) = database.query("PRAGMA application_id")
    ((number,),) = database.query("PRAGMA user_version")
    if application != APPLICATION_ID or number <= 0:
        raise LedgerDamaged(f"file {path} is not a ledger of Dragoman")
    return Version.of_number(number)


def _run(database: Database, versions: list[Version], steps: Mapping[Version, tuple[str, ...]]) -> None:
    for version in versions:
        for statement in steps[version]:
            database.execute(statement)
        database.execute(f"PRAGMA user_version={version.number}")
