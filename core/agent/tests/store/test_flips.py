"""A bit of the file that flips: no row ever reads as another one than was written."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.store import seal
from dragoman.store.codec import Malformed
from dragoman.store.ledger import Ledger
from dragoman_hookspecs import DragomanError

NewAllocation = Callable[..., AllocationRow]
NewAttachment = Callable[..., AttachmentRow]

COLUMNS = st.lists(st.text("ab-0", max_size=3), min_size=2, max_size=2)


@pytest.fixture
def written(tmp_path: Path, new_allocation: NewAllocation, new_attachment: NewAttachment) -> Path:
    """A closed ledger with three claims, all of them attached."""
    with closing(Ledger.open(tmp_path, "boot-1")) as ledger:
        rows = [new_allocation(f"c{n}", f"dummy{n}", plan={"mtu": 1500 + n}) for n in range(3)]
        ledger.put_allocations(rows)
        ledger.put_attachments([new_attachment(row) for row in rows])
    return tmp_path


def run(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        rows = connection.execute(statement).fetchall()
        connection.commit()
        return rows


def contents(folder: Path, boot: str = "boot-1") -> tuple[bool, set[object], set[object]]:
    with closing(Ledger.open(folder, boot)) as ledger:
        return ledger.rebuilt, set(map(repr, ledger.allocations())), set(map(repr, ledger.attachments()))


def test_a_flip_anywhere_in_the_file_leaves_each_row_as_it_was_or_has_it_looked_for(written: Path) -> None:
    _, allocations, attachments = contents(written)
    whole = (written / "ledger.db").read_bytes()
    filled = [index for index, byte in enumerate(whole) if byte]
    chance = random.Random(20)
    for index in chance.sample(filled, 60):
        for path in written.iterdir():
            path.unlink()
        flipped = bytearray(whole)
        flipped[index] ^= 1 << chance.randrange(8)
        (written / "ledger.db").write_bytes(flipped)
        try:
            rebuilt, found, attached = contents(written)
        except DragomanError:
            continue  # the agent does not start, and says so
        assert found <= allocations
        assert attached <= attachments
        assert rebuilt or (found, attached) == (allocations, attachments), index


@given(columns=COLUMNS, document=st.binary(min_size=1).map(lambda inner: b"{%b}" % inner), data=st.data())
@settings(derandomize=True, max_examples=200, deadline=None)
def test_a_document_is_opened_as_it_was_sealed_and_no_other(
    columns: list[str], document: bytes, data: st.DataObject
) -> None:
    closed = seal.sealed(columns, document)
    assert seal.opened(columns, closed) == document
    flipped = bytearray(closed)
    flipped[data.draw(st.integers(0, len(document) - 2))] ^= 1 << data.draw(st.integers(0, 7))
    if flipped[0] == closed[0]:
        with pytest.raises(Malformed, match="checksum"):
            seal.opened(columns, bytes(flipped))
    others = data.draw(COLUMNS)
    if others != columns:
        with pytest.raises(Malformed, match="checksum"):
            seal.opened(others, closed)


def test_a_row_of_a_release_without_checksums_is_read(written: Path) -> None:
    before = contents(written)
    run(written, "UPDATE allocations SET document = json_remove(document, '$.check')")
    run(written, "UPDATE attachments SET document = json_remove(document, '$.check')")
    assert contents(written) == before


def test_a_checksum_is_a_key_that_earlier_releases_leave_alone(written: Path) -> None:
    kept = run(written, "SELECT json_valid(document), json_type(document, '$.check') FROM allocations")
    assert kept == [(1, "text")] * 3


@pytest.mark.parametrize("key", ["ledger.boot-id", "ledger.boot-id.again"])
def test_a_boot_id_that_is_damaged_drops_no_attachment(written: Path, key: str) -> None:
    before = contents(written)
    run(written, f"UPDATE meta SET value = 'boot-3' WHERE key = '{key}'")
    assert contents(written) == before
    assert run(written, "SELECT value FROM meta WHERE key LIKE 'ledger.boot-id%'") == [("boot-1",)] * 2
    assert contents(written, "boot-2")[2] == set()


def test_a_fact_that_is_no_text_any_more_costs_only_itself(written: Path) -> None:
    before = contents(written)
    run(written, "INSERT INTO meta VALUES ('devices of dummy', CAST(x'ff00' AS TEXT))")
    assert contents(written) == before
