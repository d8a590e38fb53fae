"""Rows that a lost ledger held come back as they were found, all or none, and only into a ledger that was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState, IllegalTransition
from dragoman.store.codec import NotStorable
from dragoman.store.ledger import Ledger

NewAllocation = Callable[..., AllocationRow]
NewAttachment = Callable[..., AttachmentRow]


@pytest.fixture
def lost(tmp_path: Path) -> Iterator[Ledger]:
    (tmp_path / "ledger.db").write_bytes(b"this is no database" * 100)
    with closing(Ledger.open(tmp_path, "boot-1")) as ledger:
        yield ledger


@pytest.fixture
def row(new_allocation: NewAllocation) -> AllocationRow:
    return new_allocation(state=AllocationState.PREPARED)


def test_rows_come_back_in_the_state_in_which_they_were_found(
    tmp_path: Path, lost: Ledger, row: AllocationRow, new_attachment: NewAttachment
) -> None:
    attachment = new_attachment(row, state=AttachmentState.ATTACHED)
    lost.restore([row], [attachment])
    assert (lost.allocations(), lost.attachments()) == ([row], [attachment])
    lost.close()
    with closing(Ledger.open(tmp_path, "boot-1")) as again:
        assert (again.allocations(), again.attachments(), again.rebuilt) == ([row], [attachment], True)


def test_a_death_within_the_commit_leaves_none_of_them(
    tmp_path: Path, row: AllocationRow, new_attachment: NewAttachment
) -> None:
    class Killed(BaseException):
        pass

    def die(point: str) -> None:
        if point == "before restore":
            raise Killed

    (tmp_path / "ledger.db").write_bytes(b"this is no database" * 100)
    with closing(Ledger.open(tmp_path, "boot-1", die)) as ledger, suppress(Killed):
        ledger.restore([row], [new_attachment(row, state=AttachmentState.ATTACHED)])
    with closing(Ledger.open(tmp_path, "boot-1")) as again:
        assert (again.allocations(), again.attachments()) == ([], [])


def test_a_row_that_cannot_be_stored_keeps_the_others_out(lost: Ledger, row: AllocationRow) -> None:
    bad = replace(row, key=replace(row.key, device="dummy1"), plan={"x": object()})
    with pytest.raises(NotStorable):
        lost.restore([row, bad], [])
    assert lost.allocations() == []
    lost.restore([row], [])
    assert lost.allocations() == [row]


def test_a_row_of_this_life_is_not_overwritten(lost: Ledger, row: AllocationRow) -> None:
    lost.put_allocations([replace(row, state=AllocationState.PREPARING)])
    with pytest.raises(IllegalTransition, match="has this allocation already"):
        lost.restore([row], [])
    assert [each.state for each in lost.allocations()] == [AllocationState.PREPARING]


def test_a_ledger_that_is_whole_takes_none(tmp_path: Path, lost: Ledger, row: AllocationRow) -> None:
    lost.finish_rebuild()
    with pytest.raises(IllegalTransition, match="set aside"):
        lost.restore([row], [])


def test_the_boot_is_told(tmp_path: Path) -> None:
    for boot in ("boot-1", "boot-2"):
        with closing(Ledger.open(tmp_path, boot)) as ledger:
            assert ledger.boot_id == boot
