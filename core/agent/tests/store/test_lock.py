"""The lock of the node between two objects of one process; ``test_kill`` has two processes."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from dragoman.store.errors import LedgerFault
from dragoman.store.lock import NodeLock
from dragoman_testkit.fakes.clock import VirtualClock


def test_only_one_holds_it_and_release_hands_it_on(tmp_path: Path) -> None:
    first, second = (NodeLock(tmp_path, VirtualClock()) for _ in range(2))
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    first.release()
    assert second.try_acquire()
    assert (first.held, second.held) == (False, True)
    second.release()


def test_to_take_what_one_holds_changes_nothing(tmp_path: Path) -> None:
    lock = NodeLock(tmp_path, VirtualClock())
    assert lock.try_acquire()
    assert lock.try_acquire()
    lock.release()
    other = NodeLock(tmp_path, VirtualClock())
    assert other.try_acquire()
    other.release()


def test_it_is_signed_for_people_while_it_is_held(tmp_path: Path) -> None:
    lock = NodeLock(tmp_path, VirtualClock(epoch=1_700_000_000.0))
    lock.try_acquire()
    assert str(lock.holder()) == f"process {os.getpid()} since 2023-11-14T22:13:20+00:00"
    lock.release()
    assert lock.holder() is None


@pytest.mark.parametrize("content", [b"", b"garbage", b"[1]", b"\xff"])
def test_what_stands_in_the_file_does_not_matter_for_the_lock(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lock").write_bytes(content)
    lock = NodeLock(tmp_path, VirtualClock())
    assert lock.holder() is None
    assert lock.try_acquire()
    lock.release()


def test_only_the_owner_gets_at_the_file(tmp_path: Path) -> None:
    lock = NodeLock(tmp_path / "state", VirtualClock())
    lock.try_acquire()
    assert stat.S_IMODE((tmp_path / "state" / "lock").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    lock.release()


async def test_a_waiter_gives_up_at_its_time(tmp_path: Path) -> None:
    clock = VirtualClock()
    holder, lock = NodeLock(tmp_path, clock), NodeLock(tmp_path, clock)
    holder.try_acquire()
    waiting = asyncio.create_task(lock.acquire(seconds=10))
    await clock.advance(9.9)
    assert not waiting.done()
    await clock.advance(0.2)
    assert waiting.result() is False
    holder.release()


async def test_a_waiter_follows_a_release(tmp_path: Path) -> None:
    clock = VirtualClock()
    holder, lock = NodeLock(tmp_path, clock), NodeLock(tmp_path, clock)
    holder.try_acquire()
    waiting = asyncio.create_task(lock.acquire())
    await clock.advance(60)
    assert not waiting.done()
    holder.release()
    await clock.advance(0.1)
    assert waiting.result()
    lock.release()


def test_a_child_that_was_executed_does_not_keep_it(tmp_path: Path) -> None:
    lock = NodeLock(tmp_path, VirtualClock())
    lock.try_acquire()
    # Its first words tell that it was executed; before that it has the parent's descriptors for a moment.
    command = ("/bin/sh", "-c", "echo executed; exec sleep 60")
    with subprocess.Popen(command, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout
        assert child.stdout.readline() == b"executed\n"
        lock.release()
        other = NodeLock(tmp_path, VirtualClock())
        taken = other.try_acquire()
        other.release()
        child.kill()
    assert taken


def test_a_folder_that_cannot_be_used_is_a_clear_fault(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(LedgerFault, match=r"the lock of the node .*state/lock cannot be used"):
        NodeLock(tmp_path / "state", VirtualClock()).try_acquire()


def test_a_disk_without_room_for_the_name_of_the_holder_does_not_keep_the_lock_from_being_had(tmp_path: Path) -> None:
    lock = NodeLock(tmp_path, VirtualClock())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        taken = lock.try_acquire()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert taken
    assert lock.holder() is None
    lock.release()


@pytest.fixture
def also(tmp_path: Path) -> Path:
    return tmp_path / "run" / "net.example.org.lock"


def test_who_finds_the_state_folder_wiped_or_has_another_one_does_not_get_the_lock(tmp_path: Path, also: Path) -> None:
    clock = VirtualClock()
    holder = NodeLock(tmp_path / "state", clock, also=also)
    assert holder.try_acquire()
    shutil.rmtree(tmp_path / "state")
    for folder in ("state", "other"):
        newcomer = NodeLock(tmp_path / folder, clock, also=also)
        assert not newcomer.try_acquire()
        assert newcomer.holder() == holder.holder() is not None
    holder.release()
    assert newcomer.try_acquire()
    newcomer.release()


def test_an_agent_of_a_former_release_and_one_of_this_keep_the_lock_from_each_other(tmp_path: Path, also: Path) -> None:
    former, new = NodeLock(tmp_path, VirtualClock()), NodeLock(tmp_path, VirtualClock(), also=also)
    assert former.try_acquire()
    assert not new.try_acquire()
    former.release()
    assert new.try_acquire()
    assert not former.try_acquire()
    new.release()


def test_agents_of_two_drivers_that_meet_in_a_folder_have_each_their_lock(tmp_path: Path) -> None:
    locks = [NodeLock(tmp_path / name, VirtualClock(), also=tmp_path / "run" / f"{name}.lock") for name in ("a", "b")]
    assert [lock.try_acquire() for lock in locks] == [True, True]
    for lock in locks:
        lock.release()


def test_a_lock_of_which_a_part_is_held_leaves_the_other_part_free(tmp_path: Path, also: Path) -> None:
    holder, half = NodeLock(tmp_path / "one", VirtualClock(), also=also), NodeLock(tmp_path / "two", VirtualClock())
    assert holder.try_acquire()
    assert not NodeLock(tmp_path / "two", VirtualClock(), also=also).try_acquire()
    assert half.try_acquire()
    half.release()
    holder.release()


def test_a_folder_where_agents_meet_keeps_its_mode_and_one_that_cannot_be_used_is_a_clear_fault(tmp_path: Path) -> None:
    shared = tmp_path / "run"
    shared.mkdir(mode=0o755)
    shared.chmod(0o755)
    lock = NodeLock(tmp_path / "state", VirtualClock(), also=shared / "a.lock")
    assert lock.try_acquire()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert stat.S_IMODE((shared / "a.lock").stat().st_mode) == 0o600
    lock.release()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LedgerFault, match=r"file/a\.lock cannot be used"):
        NodeLock(tmp_path / "state", VirtualClock(), also=tmp_path / "file" / "a.lock").try_acquire()
    assert lock.try_acquire()
    lock.release()


def test_who_lacks_the_rights_is_told_what_to_run_as(tmp_path: Path) -> None:
    # In sysfs nobody makes a file, whoever runs this.
    lock = NodeLock(tmp_path / "state", VirtualClock(), also=Path("/sys/kernel/a.lock"))
    with pytest.raises(LedgerFault, match=r"/sys/kernel/a\.lock cannot be used: .*; the agent has to run as root"):
        lock.try_acquire()
    assert not lock.held
