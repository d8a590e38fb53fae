"""The ledger as the engine uses it: rows, order, rules, and the same again after a restart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.model.claims import Consumer
from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.model.states import (
    ALLOCATION_TRANSITIONS,
    ATTACHMENT_TRANSITIONS,
    AllocationState,
    AttachmentState,
    IllegalTransition,
)
from dragoman.store.codec import NotStorable
from dragoman.store.ledger import Ledger, LedgerFault
from dragoman_hookspecs import Prepared

NewAllocation = Callable[..., AllocationRow]
NewAttachment = Callable[..., AttachmentRow]
Open = Callable[..., Ledger]

PREPARING, PREPARED, FREEING = AllocationState
ATTACHING, ATTACHED, DETACHING = AttachmentState


@pytest.fixture
def reopened() -> Iterator[Open]:
    """Open a second time without closing the first, as after a SIGKILL."""
    opened: list[Ledger] = []

    def reopen(folder: Path, boot_id: str = "boot-1", on_commit: Callable[[str], None] = lambda _: None) -> Ledger:
        opened.append(Ledger.open(folder, boot_id, on_commit))
        return opened[-1]

    yield reopen
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(tmp_path: Path, reopened: Open) -> Ledger:
    return reopened(tmp_path)


def test_a_new_ledger_is_empty_and_not_rebuilt(ledger: Ledger) -> None:
    assert not ledger.rebuilt
    assert [*ledger.allocations(), *ledger.attachments()] == []


def test_rows_are_there_after_a_restart_without_a_close(
    ledger: Ledger, tmp_path: Path, new_allocation: NewAllocation, new_attachment: NewAttachment, reopened: Open
) -> None:
    row = new_allocation(plan={"former": {"mtu": 1500}})
    ledger.put_allocations([row])
    ledger.put_allocations([replace(row, state=PREPARED, prepared=Prepared(state={"name": "dummy0"}))])
    ledger.put_attachments([new_attachment(row)])
    again = reopened(tmp_path)
    assert again.allocations() == ledger.allocations()
    assert again.attachments() == [new_attachment(row)]
    assert not again.rebuilt
    again.close()


def test_rows_are_found_by_claim_device_pod_and_key(ledger: Ledger, new_allocation: NewAllocation) -> None:
    first = new_allocation("c2", "dummy1", position=1)
    second = new_allocation("c2", "dummy0", position=0)
    share = new_allocation("c1", "dummy1", "share-1", pod="p2")
    ledger.put_allocations([first, second, share])
    assert ledger.allocations() == [share, second, first]
    assert ledger.of_claim("c2") == [second, first]
    assert ledger.of_device("dummy1") == [share, first]
    assert ledger.of_pod("p1") == [second, first]
    assert ledger.of_pod("p2") == [share]
    assert ledger.allocation(share.key) == share
    assert ledger.allocation(replace(share.key, share_id="")) is None


def test_only_pods_are_found_as_pods(ledger: Ledger, new_allocation: NewAllocation) -> None:
    group = Consumer(resource="podgroups", api_group="scheduling.k8s.io", name="group", uid="g1")
    pods = [Consumer(resource="pods", name=uid, uid=uid) for uid in ("p1", "p2")]
    row = new_allocation(reserved_for=(group, *pods))
    ledger.put_allocations([row])
    assert ledger.of_pod("g1") == []
    assert ledger.of_pod("p1") == ledger.of_pod("p2") == [row]


def test_a_row_that_changes_leaves_the_groups_it_was_in(ledger: Ledger, new_allocation: NewAllocation) -> None:
    row = new_allocation(pod="p1")
    ledger.put_allocations([row])
    ledger.put_allocations([replace(row, reserved_for=(Consumer(resource="pods", name="pod", uid="p2"),))])
    assert ledger.of_pod("p1") == []
    assert len(ledger.of_pod("p2")) == 1


def test_a_deleted_row_is_gone_at_once_and_after_a_restart(
    ledger: Ledger, tmp_path: Path, new_allocation: NewAllocation, reopened: Open
) -> None:
    row, other = new_allocation("c1"), new_allocation("c2")
    ledger.put_allocations([row, other])
    ledger.put_allocations([replace(row, state=FREEING)])
    ledger.delete_allocations([row.key])
    ledger.delete_allocations([row.key])
    assert (ledger.of_claim("c1"), ledger.of_device("dummy0"), ledger.of_pod("p1")) == ([], [other], [other])
    assert reopened(tmp_path).allocations() == [other]


def test_attachments_of_a_sandbox_keep_their_order_over_updates_and_restarts(
    ledger: Ledger, tmp_path: Path, new_allocation: NewAllocation, new_attachment: NewAttachment, reopened: Open
) -> None:
    rows = [new_allocation("c1", device) for device in ("zeta", "alpha", "mid")]
    ledger.put_allocations(rows)
    for row in rows:
        ledger.put_attachments([new_attachment(row)])
    ledger.put_attachments([new_attachment(rows[0], state=ATTACHED)])
    devices = [row.key.allocation.device for row in ledger.attachments_in("s1")]
    assert devices == ["zeta", "alpha", "mid"]
    assert reopened(tmp_path).attachments_in("s1") == ledger.attachments_in("s1")
    assert ledger.attachments_of(rows[1].key) == [new_attachment(rows[1])]
    assert ledger.attachments_in("s2") == []


@pytest.mark.parametrize("old", [None, *AllocationState])
@pytest.mark.parametrize("new", [None, *AllocationState])
def test_allocations_go_only_where_the_table_says(
    ledger: Ledger,
    tmp_path: Path,
    new_allocation: NewAllocation,
    old: AllocationState | None,
    new: AllocationState | None,
    reopened: Open,
) -> None:
    way: dict[AllocationState | None, list[AllocationState]] = {
        None: [],
        PREPARING: [PREPARING],
        PREPARED: [PREPARING, PREPARED],
        FREEING: [PREPARING, FREEING],
    }
    row = new_allocation()
    for state in way[old]:
        ledger.put_allocations([replace(row, state=state)])

    def step() -> None:
        if new is None:
            ledger.delete_allocations([row.key])
        else:
            ledger.put_allocations([replace(row, state=new)])

    if new in ALLOCATION_TRANSITIONS[old] or new is old:
        step()
    else:
        before = ledger.allocations()
        with pytest.raises(IllegalTransition, match="device dummy0 of request nic of claim c1"):
            step()
        assert ledger.allocations() == before
    assert reopened(tmp_path).allocations() == ledger.allocations()


@pytest.mark.parametrize("old", [None, *AttachmentState])
@pytest.mark.parametrize("new", [None, *AttachmentState])
def test_attachments_go_only_where_the_table_says(
    ledger: Ledger,
    new_allocation: NewAllocation,
    new_attachment: NewAttachment,
    old: AttachmentState | None,
    new: AttachmentState | None,
) -> None:
    way: dict[AttachmentState | None, list[AttachmentState]] = {
        None: [],
        ATTACHING: [ATTACHING],
        ATTACHED: [ATTACHING, ATTACHED],
        DETACHING: [ATTACHING, DETACHING],
    }
    allocation = new_allocation()
    row = new_attachment(allocation)
    ledger.put_allocations([allocation])
    for state in way[old]:
        ledger.put_attachments([replace(row, state=state)])

    def step() -> None:
        if new is None:
            ledger.delete_attachments([row.key])
        else:
            ledger.put_attachments([replace(row, state=new)])

    if new in ATTACHMENT_TRANSITIONS[old] or new is old:
        step()
    else:
        with pytest.raises(IllegalTransition):
            step()


def test_one_illegal_row_keeps_the_whole_batch_out(
    ledger: Ledger, tmp_path: Path, new_allocation: NewAllocation, reopened: Open
) -> None:
    with pytest.raises(IllegalTransition):
        ledger.put_allocations([new_allocation("c1"), new_allocation("c2", state=PREPARED)])
    assert ledger.allocations() == []
    assert reopened(tmp_path).allocations() == []


def test_an_attached_allocation_is_not_deleted(
    ledger: Ledger, new_allocation: NewAllocation, new_attachment: NewAttachment
) -> None:
    row = new_allocation()
    ledger.put_allocations([row])
    ledger.put_attachments([new_attachment(row)])
    ledger.put_allocations([replace(row, state=FREEING)])
    with pytest.raises(IllegalTransition, match="while it has an attachment"):
        ledger.delete_allocations([row.key])
    assert len(ledger.allocations()) == 1


def test_what_has_no_allocation_is_not_attached(
    ledger: Ledger, new_allocation: NewAllocation, new_attachment: NewAttachment
) -> None:
    with pytest.raises(IllegalTransition, match="no such allocation"):
        ledger.put_attachments([new_attachment(new_allocation())])


def test_a_row_reads_the_same_before_and_after_a_restart_whatever_a_plugin_put_into_its_state(
    ledger: Ledger, tmp_path: Path, new_allocation: NewAllocation, reopened: Open
) -> None:
    state: dict[str, Any] = {"pair": (1, 2)}
    ledger.put_allocations([new_allocation(prepared=Prepared(state=state))])
    state["later"] = "a plugin goes on with its object"
    assert ledger.allocations()[0].prepared == Prepared(state={"pair": [1, 2]})
    assert reopened(tmp_path).allocations() == ledger.allocations()


def test_a_state_that_is_no_json_is_refused_and_nothing_is_written(
    ledger: Ledger, new_allocation: NewAllocation
) -> None:
    with pytest.raises(NotStorable):
        ledger.put_allocations([new_allocation("c1"), new_allocation("c2", plan={"handle": object()})])
    assert ledger.allocations() == []


def test_a_failed_write_leaves_memory_as_the_disk_is(
    tmp_path: Path, new_allocation: NewAllocation, reopened: Open
) -> None:
    class DiskFull(Exception):
        pass

    def fail(label: str) -> None:
        if label == "before put allocations":
            raise DiskFull

    ledger = reopened(tmp_path, on_commit=fail)
    with pytest.raises(DiskFull):
        ledger.put_allocations([new_allocation()])
    assert (ledger.allocations(), ledger.of_claim("c1")) == ([], [])
    assert reopened(tmp_path).allocations() == []


def test_commits_are_announced_before_and_after_with_their_label(
    tmp_path: Path, new_allocation: NewAllocation, reopened: Open
) -> None:
    labels: list[str] = []
    ledger = reopened(tmp_path, on_commit=labels.append)
    row = new_allocation()
    ledger.put_allocations([row])
    ledger.put_allocations([replace(row, state=FREEING)])
    ledger.delete_allocations([row.key])
    ledger.put_allocations([])
    steps = ["create", "enter boot", "put allocations", "put allocations", "delete allocations"]
    assert labels == [f"{when} {step}" for step in steps for when in ("before", "after")]


def test_another_boot_drops_attachments_only_and_tells_so_once(
    ledger: Ledger, tmp_path: Path, new_allocation: NewAllocation, new_attachment: NewAttachment, reopened: Open
) -> None:
    row = new_allocation()
    ledger.put_allocations([row])
    ledger.put_attachments([new_attachment(row)])
    ledger.close()
    second = reopened(tmp_path, "boot-2")
    assert (second.allocations(), second.attachments()) == ([row], [])
    second.close()
    third = reopened(tmp_path, "boot-2")
    assert (third.allocations(), third.attachments()) == ([row], [])


def test_facts_are_kept(ledger: Ledger, tmp_path: Path, reopened: Open) -> None:
    assert ledger.meta("driver") is None
    ledger.set_meta("driver", "net.dragoman.dev")
    ledger.set_meta("driver", "net.example.org")
    assert ledger.meta("driver") == "net.example.org"
    assert reopened(tmp_path).meta("driver") == "net.example.org"


def test_a_closed_ledger_gives_no_answer_at_all(ledger: Ledger, new_allocation: NewAllocation) -> None:
    ledger.put_allocations([new_allocation()])
    ledger.close()
    ledger.close()
    calls: list[Callable[[], object]] = [
        ledger.allocations,
        ledger.attachments,
        lambda: ledger.of_claim("c1"),
        lambda: ledger.of_pod("p1"),
        lambda: ledger.put_allocations([]),
        lambda: ledger.meta("driver"),
    ]
    for call in calls:
        with pytest.raises(LedgerFault, match="is closed"):
            call()


def test_another_thread_is_refused(ledger: Ledger, new_allocation: NewAllocation) -> None:
    errors: list[BaseException] = []

    def write() -> None:
        try:
            ledger.put_allocations([new_allocation()])
        except LedgerFault as error:
            errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert ["thread" in str(error) for error in errors] == [True]


NEXT: dict[AllocationState | None, AllocationState | None] = {
    None: PREPARING,
    PREPARING: PREPARED,
    PREPARED: FREEING,
    FREEING: None,
}
STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("de")), max_size=25)


def test_after_any_sequence_of_steps_groups_memory_and_disk_agree(
    tmp_path_factory: pytest.TempPathFactory, new_allocation: NewAllocation, reopened: Open
) -> None:
    @settings(max_examples=15, derandomize=True, deadline=None)
    @given(STEPS)
    def check(steps: list[tuple[str, str]]) -> None:
        folder = tmp_path_factory.mktemp("ledger")
        ledger, model = reopened(folder), dict[Any, AllocationRow]()
        for claim, device in steps:
            row = new_allocation(claim, device)
            state = NEXT[model[row.key].state if row.key in model else None]
            if state is None:
                ledger.delete_allocations([row.key])
                del model[row.key]
            else:
                model[row.key] = replace(row, state=state)
                ledger.put_allocations([model[row.key]])
        for opened in (ledger, reopened(folder)):
            assert {row.key: row for row in opened.allocations()} == model
            for claim in "abc":
                assert {row.key for row in opened.of_claim(claim)} == {key for key in model if key.claim_uid == claim}
            for device in "de":
                assert {row.key for row in opened.of_device(device)} == {key for key in model if key.device == device}
            opened.close()

    check()
