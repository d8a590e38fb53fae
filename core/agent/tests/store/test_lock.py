"""The lock of the node between two objects of one process; ``test_kill`` has two processes."""

from __future__ import annotations

import asyncio
import os
import resource
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
    assert NodeLock(tmp_path, VirtualClock()).try_acquire()


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
        taken = NodeLock(tmp_path, VirtualClock()).try_acquire()
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
