"""A ledger that cannot be read is set aside as a whole, said so until it is made up for, and never stops the agent."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.store.ledger import Ledger, LedgerFault

NewAllocation = Callable[..., AllocationRow]
NewAttachment = Callable[..., AttachmentRow]
CLAIMS = [f"c{n}" for n in range(40)]


@pytest.fixture
def filled(tmp_path: Path, new_allocation: NewAllocation, new_attachment: NewAttachment) -> Path:
    """A closed ledger of several pages."""
    folder = tmp_path / "state"
    with closing(Ledger.open(folder, "boot-1")) as ledger:
        rows = [new_allocation(claim) for claim in CLAIMS]
        ledger.put_allocations(rows)
        ledger.put_attachments([new_attachment(row) for row in rows])
    return folder


def outcome(folder: Path) -> tuple[bool, list[str]]:
    """Open, and give whether the ledger was rebuilt, and the claims in it."""
    with closing(Ledger.open(folder, "boot-1")) as ledger:
        return ledger.rebuilt, [row.key.claim_uid for row in ledger.allocations()]


def edit(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_a_file_that_is_no_database_is_set_aside_and_kept(filled: Path) -> None:
    (filled / "ledger.db").write_bytes(b"this is no database, and longer than the header of one" * 10)
    assert outcome(filled) == (True, [])
    assert (filled / "ledger.db.corrupt-1").read_bytes().startswith(b"this is no database")


def test_log_and_shared_memory_go_with_the_file(filled: Path) -> None:
    (filled / "ledger.db").write_bytes(b"broken" * 100)
    (filled / "ledger.db-wal").write_bytes(b"log")
    assert outcome(filled) == (True, [])
    assert (filled / "ledger.db.corrupt-1-wal").read_bytes() == b"log"
    assert (filled / "ledger.db.corrupt-1-shm").exists()


def test_each_broken_file_gets_a_number_of_its_own(filled: Path) -> None:
    for content in (b"first" * 100, b"second" * 100):
        (filled / "ledger.db").write_bytes(content)
        assert outcome(filled) == (True, [])
    assert (filled / "ledger.db.corrupt-1").read_bytes()[:5] == b"first"
    assert (filled / "ledger.db.corrupt-2").read_bytes()[:6] == b"second"


def test_a_database_of_something_else_is_set_aside(tmp_path: Path) -> None:
    edit(tmp_path, "CREATE TABLE something (else_ TEXT)")
    assert outcome(tmp_path) == (True, [])


@pytest.mark.parametrize("statement", ["DROP TABLE attachments", "ALTER TABLE allocations DROP COLUMN document"])
def test_tables_that_are_not_ours_set_the_whole_file_aside(filled: Path, statement: str) -> None:
    edit(filled, statement)
    assert outcome(filled) == (True, [])
    assert (filled / "ledger.db.corrupt-1").exists()


def test_tables_whose_making_is_no_text_set_the_whole_file_aside(filled: Path) -> None:
    edit(
        filled,
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_master SET sql = CAST(x'ff' || sql AS TEXT) WHERE name = 'attachments'",
    )
    assert outcome(filled) == (True, [])
    assert (filled / "ledger.db.corrupt-1").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE allocations SET document = '{' WHERE claim_uid = 'c7'",
        "UPDATE allocations SET document = x'7b7d' WHERE claim_uid = 'c7'",
        "UPDATE allocations SET document = replace(document, 'dummy0', 'dummy1') WHERE claim_uid = 'c7'",
        "UPDATE allocations SET document = CAST(x'ff' AS TEXT) WHERE claim_uid = 'c7'",
        "UPDATE allocations SET state = 'PERHAPS' WHERE claim_uid = 'c7'",
        "UPDATE allocations SET state = 'PREPARED' WHERE claim_uid = 'c7'",
        "UPDATE allocations SET state = CAST(x'ff' AS TEXT) WHERE claim_uid = 'c7'",
        "UPDATE allocations SET device = 'dummy1' WHERE claim_uid = 'c7'",
        "UPDATE allocations SET claim_uid = x'00' WHERE claim_uid = 'c7'",
        "UPDATE allocations SET claim_uid = 'c7 ' WHERE claim_uid = 'c7'",
        "UPDATE attachments SET document = '[]' WHERE claim_uid = 'c7'",
        "UPDATE attachments SET document = replace(document, '1500', '1504') WHERE claim_uid = 'c7'",
        "UPDATE attachments SET sandbox_id = 's2' WHERE claim_uid = 'c7'",
        "DELETE FROM allocations WHERE claim_uid = 'c7'",
    ],
)
def test_a_damaged_row_goes_with_its_attachment_and_costs_no_other(
    filled: Path, new_attachment: NewAttachment, statement: str
) -> None:
    edit(filled, statement)
    others = [claim for claim in CLAIMS if claim != "c7"]
    for _ in range(2):
        with closing(Ledger.open(filled, "boot-1")) as ledger:
            assert ledger.rebuilt
            assert [row.key.claim_uid for row in ledger.allocations()] == sorted(others)
            assert sorted(row.key.allocation.claim_uid for row in ledger.attachments()) == sorted(others)
    assert not (filled / "ledger.db.corrupt-1").exists()


def test_a_file_cut_anywhere_is_whole_or_set_aside(filled: Path) -> None:
    whole = (filled / "ledger.db").read_bytes()
    results = set()
    for length in range(0, len(whole), 512):
        for path in filled.iterdir():
            path.unlink()
        (filled / "ledger.db").write_bytes(whole[:length])
        rebuilt, claims = outcome(filled)
        results.add((rebuilt, len(claims)))
    assert results == {(True, 0)}


def test_a_page_of_zeros_is_found(filled: Path) -> None:
    whole = bytearray((filled / "ledger.db").read_bytes())
    for page in range(1, len(whole) // 4096):
        for path in filled.iterdir():
            path.unlink()
        (filled / "ledger.db").write_bytes(whole[: page * 4096] + bytes(4096) + whole[(page + 1) * 4096 :])
        assert outcome(filled) == (True, [])


def test_a_rebuild_is_told_at_every_start_until_it_is_finished(filled: Path) -> None:
    (filled / "ledger.db").write_bytes(b"")
    assert outcome(filled)[0]
    with closing(Ledger.open(filled, "boot-1")) as ledger:
        assert ledger.rebuilt
        ledger.finish_rebuild()
        assert not ledger.rebuilt
    assert outcome(filled) == (False, [])


def test_a_death_after_the_file_was_set_aside_still_ends_in_a_rebuild(filled: Path) -> None:
    (filled / "ledger.db").rename(filled / "ledger.db.corrupt-1")
    assert outcome(filled) == (True, [])


def test_a_log_without_its_file_never_gets_into_the_new_ledger(tmp_path: Path, new_allocation: NewAllocation) -> None:
    ledger = Ledger.open(tmp_path, "boot-1")
    ledger.put_allocations([new_allocation("from the log")])
    log = (tmp_path / "ledger.db-wal").read_bytes()
    ledger.close()
    # A death between the two renames of setting aside leaves just the log.
    (tmp_path / "ledger.db").rename(tmp_path / "ledger.db.corrupt-1")
    (tmp_path / "ledger.db-wal").write_bytes(log)
    assert outcome(tmp_path) == (True, [])
    assert (tmp_path / "ledger.db.corrupt-2-wal").read_bytes() == log


def test_a_log_alone_tells_that_there_was_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.db-wal").write_bytes(b"log")
    assert outcome(tmp_path) == (True, [])


def test_a_file_that_is_gone_is_missed_where_something_tells_of_it(tmp_path: Path) -> None:
    with closing(Ledger.open(tmp_path, "boot-1", expected=True)) as ledger:
        assert ledger.rebuilt
    assert outcome(tmp_path) == (True, [])
    with closing(Ledger.open(tmp_path, "boot-1")) as ledger:
        ledger.finish_rebuild()
    with closing(Ledger.open(tmp_path, "boot-1", expected=True)) as ledger:
        assert not ledger.rebuilt


def test_a_half_made_new_ledger_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "ledger.db.new").write_bytes(b"half a page")
    (tmp_path / "ledger.db.new-journal").write_bytes(b"of a death")
    assert outcome(tmp_path) == (False, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db"]


def test_torn_bytes_after_the_last_commit_do_not_cost_a_row(tmp_path: Path, new_allocation: NewAllocation) -> None:
    ledger = Ledger.open(tmp_path, "boot-1")
    ledger.put_allocations([new_allocation("c1")])
    files = {name: (tmp_path / name).read_bytes() for name in ("ledger.db", "ledger.db-wal")}
    ledger.close()
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "ledger.db").write_bytes(files["ledger.db"])
    (copy / "ledger.db-wal").write_bytes(files["ledger.db-wal"] + b"\x5a" * 5000)
    assert outcome(copy) == (False, ["c1"])


def test_what_is_no_damage_is_not_set_aside(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").mkdir()
    with pytest.raises(LedgerFault, match="cannot be used"):
        Ledger.open(tmp_path, "boot-1")
    assert (tmp_path / "ledger.db").is_dir()


def test_a_folder_that_cannot_be_made_is_a_clear_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LedgerFault, match="file/state cannot be opened"):
        Ledger.open(tmp_path / "file" / "state", "boot-1")


def test_only_the_owner_gets_at_the_files(tmp_path: Path, new_allocation: NewAllocation) -> None:
    folder = tmp_path / "made" / "by" / "us"
    with closing(Ledger.open(folder, "boot-1")) as ledger:
        ledger.put_allocations([new_allocation()])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_and_a_file_that_others_could_read_are_closed(filled: Path) -> None:
    filled.chmod(0o755)
    (filled / "ledger.db").chmod(0o644)
    outcome(filled)
    assert stat.S_IMODE(filled.stat().st_mode) == 0o700
    assert stat.S_IMODE((filled / "ledger.db").stat().st_mode) == 0o600
