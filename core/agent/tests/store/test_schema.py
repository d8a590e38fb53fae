"""Schema versions: steps run once, newer minor numbers are served, newer major numbers refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.model.records import AllocationRow
from dragoman.model.states import AllocationState
from dragoman.store import schema
from dragoman.store.database import Database
from dragoman.store.ledger import Ledger, LedgerTooNew
from dragoman.store.schema import Version

NewAllocation = Callable[..., AllocationRow]
NEWEST = max(schema.STEPS)
NEXT_MINOR = Version(NEWEST.major, NEWEST.minor + 1)


def run(folder: Path, *statements: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        rows = [row for statement in statements for row in connection.execute(statement).fetchall()]
        connection.commit()
        return rows


def written(folder: Path, *rows: AllocationRow) -> None:
    with closing(Ledger.open(folder, "boot-1")) as ledger:
        ledger.put_allocations(rows)


def test_a_version_and_its_number_are_the_same_thing() -> None:
    versions = [Version(1, 0), Version(1, 65535), Version(2, 0), Version(300, 7)]
    assert [Version.of_number(version.number) for version in versions] == versions
    assert sorted(versions, key=lambda version: version.number) == sorted(versions)


def test_a_newer_major_number_is_refused_in_one_sentence_and_the_file_is_left(
    tmp_path: Path, new_allocation: NewAllocation
) -> None:
    written(tmp_path, new_allocation())
    newer = Version(NEWEST.major + 1, 2)
    run(tmp_path, f"PRAGMA user_version={newer.number}")
    before = (tmp_path / "ledger.db").read_bytes()
    with pytest.raises(
        LedgerTooNew, match=rf"has schema {newer} and this program knows schemas up to {NEWEST.major}\.x"
    ):
        Ledger.open(tmp_path, "boot-2")
    assert (tmp_path / "ledger.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]


def test_a_newer_minor_number_is_served_and_what_it_added_is_kept(
    tmp_path: Path, new_allocation: NewAllocation
) -> None:
    row = new_allocation()
    written(tmp_path, row)
    run(
        tmp_path,
        "ALTER TABLE allocations ADD COLUMN weight INTEGER NOT NULL DEFAULT 1",
        "UPDATE allocations SET weight = 5, document = json_insert(document, '$.future', 1)",
        "CREATE TABLE future (x TEXT)",
        f"PRAGMA user_version={NEXT_MINOR.number}",
    )
    with closing(Ledger.open(tmp_path, "boot-1")) as ledger:
        assert ledger.allocations() == [row]
        ledger.put_allocations([replace(row, state=AllocationState.PREPARED), new_allocation("c2")])
    assert run(tmp_path, "SELECT claim_uid, weight FROM allocations ORDER BY 1") == [("c1", 5), ("c2", 1)]
    assert run(tmp_path, "PRAGMA user_version") == [(NEXT_MINOR.number,)]


def test_what_only_the_newer_release_can_read_is_not_taken_for_damage(
    tmp_path: Path, new_allocation: NewAllocation
) -> None:
    written(tmp_path, new_allocation())
    run(tmp_path, "UPDATE allocations SET state = 'RESTING'", f"PRAGMA user_version={NEXT_MINOR.number}")
    with pytest.raises(LedgerTooNew, match=f"has schema {NEXT_MINOR} and cannot be read by this release"):
        Ledger.open(tmp_path, "boot-1")
    assert run(tmp_path, "SELECT state FROM allocations") == [("RESTING",)]


def test_steps_that_a_file_lacks_run_in_order_and_once(tmp_path: Path) -> None:
    steps = {
        **schema.STEPS,
        Version(1, 2): ("INSERT INTO added VALUES ('second')",),
        Version(1, 1): ("CREATE TABLE added (name TEXT)", "INSERT INTO added VALUES ('first')"),
    }
    written(tmp_path)
    path = tmp_path / "ledger.db"
    for _ in range(2):
        with closing(Database(path, lambda _: None)) as database:
            database.prepare()
            assert schema.upgrade(database, path, steps) == Version(1, 2)
            assert database.query("SELECT name FROM added") == [("first",), ("second",)]
    with closing(Ledger.open(tmp_path, "boot-1")) as ledger:
        assert not ledger.rebuilt


def test_a_death_within_an_upgrade_leaves_the_version_before(tmp_path: Path) -> None:
    class Died(Exception):
        pass

    def die(label: str) -> None:
        if label == "before upgrade to 1.1":
            raise Died

    steps = {**schema.STEPS, Version(1, 1): ("CREATE TABLE added (name TEXT)",)}
    written(tmp_path)
    path = tmp_path / "ledger.db"
    with closing(Database(path, die)) as database:
        database.prepare()
        with pytest.raises(Died):
            schema.upgrade(database, path, steps)
    assert run(tmp_path, "PRAGMA user_version") == [(NEWEST.number,)]
    assert run(tmp_path, "SELECT count(*) FROM sqlite_master WHERE name = 'added'") == [(0,)]
