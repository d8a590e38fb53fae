"""SIGKILL at every commit: a transaction is on disk whole or not at all, and the lock is free."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.store.ledger import Ledger
from dragoman.store.lock import NodeLock

SCRIPT = Path(__file__).with_name("agent_process.py")
Start = Callable[[str], "subprocess.Popen[str]"]


class WallClock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a process that holds lock and ledger, and wait until it stands at the place it was told."""
    started: list[subprocess.Popen[str]] = []

    def run(label: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(SCRIPT), str(tmp_path), label]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def contents(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    with closing(Ledger.open(folder, "boot-1")) as ledger:
        assert not ledger.rebuilt
        allocations = [(row.key.claim_uid, row.state.value) for row in ledger.allocations()]
        return allocations, [row.state.value for row in ledger.attachments()]


NOTHING: list[tuple[str, str]] = []


@pytest.mark.parametrize(
    ("label", "allocations", "attachments"),
    [
        ("before create", NOTHING, []),
        ("after create", NOTHING, []),
        ("before enter boot", NOTHING, []),
        ("before put allocations", NOTHING, []),
        ("after put allocations", [("c1", "PREPARING")], []),
        ("before put attachments", [("c1", "PREPARING")], []),
        ("after put attachments", [("c1", "PREPARING")], ["ATTACHING"]),
        ("before set_meta", [("c1", "PREPARING")], ["ATTACHING"]),
        ("before delete attachments", [("c1", "PREPARING")], ["DETACHING"]),
        ("after delete attachments", [("c1", "PREPARING")], []),
        ("before delete allocations", [("c1", "FREEING")], []),
        ("after delete allocations", NOTHING, []),
        ("ready", [("c2", "PREPARING"), ("c3", "PREPARING")], []),
    ],
)
def test_a_kill_at_a_commit_leaves_what_was_committed(
    start: Start, tmp_path: Path, label: str, allocations: list[tuple[str, str]], attachments: list[str]
) -> None:
    kill(start(label))
    lock = NodeLock(tmp_path, WallClock())
    assert lock.try_acquire()
    lock.release()
    assert contents(tmp_path) == (allocations, attachments)


def test_the_lock_is_held_against_another_process_until_that_is_killed(start: Start, tmp_path: Path) -> None:
    holder = start("ready")
    lock = NodeLock(tmp_path, WallClock())
    assert not lock.try_acquire()
    signed = lock.holder()
    assert signed is not None
    assert signed.pid == holder.pid
    kill(holder)
    assert lock.try_acquire()
    lock.release()


def test_of_two_processes_one_gets_the_lock_and_the_other_says_who_has_it(start: Start) -> None:
    first, second = start("ready"), start("ready")
    assert first.poll() is None
    _, errors = second.communicate()
    assert second.returncode == 1
    assert f"held by process {first.pid} since" in errors


async def test_a_waiter_gets_the_lock_when_the_holder_is_killed(start: Start, tmp_path: Path) -> None:
    holder = start("ready")
    lock = NodeLock(tmp_path, WallClock())
    waiting = asyncio.create_task(lock.acquire())
    done, _ = await asyncio.wait({waiting}, timeout=0.2)
    assert not done
    kill(holder)
    assert await asyncio.wait_for(waiting, 30)
    lock.release()
