"""The folders of the node on bad days: wiped, removed, full."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman_testkit.sandbox.node import DRIVER
from tests.e2e.trial import MakeTrial, Trial, eventually


async def test_sockets_that_are_wiped_are_made_again(trial: Trial) -> None:
    root = trial.node.kubelet.root
    shutil.rmtree(root / "plugins")
    shutil.rmtree(root / "plugins_registry")
    await trial.node.kubelet.deregistered(DRIVER)
    await eventually((root / "plugins" / DRIVER / "dra.sock").is_socket, "the DRA socket is there")
    await trial.node.kubelet.registered(DRIVER)
    trial.start_pod("served")
    await trial.running("served")


async def test_a_folder_of_cdi_specs_that_is_removed_is_made_again(trial: Trial) -> None:
    trial.start_pod("before", {"podIfName": "net1"})
    await trial.running("before")
    shutil.rmtree(trial.node.cdi_dir)
    trial.start_pod("after", {"podIfName": "net1"})
    await trial.running("after")
    trial.delete_pod("before")
    await trial.ended("before")


async def test_on_a_full_disk_claims_are_refused_until_there_is_room(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    with small_disk(trial.node.state_dir):
        await trial.start()
        trial.start_pod("before", {"podIfName": "net1"})
        await trial.running("before")
        fill(trial.node.state_dir / "filler")
        trial.start_pod("full", {"podIfName": "net1"})
        await trial.until(lambda: bool(trial.events("full", "FailedPrepare")), "the claim is refused")
        assert "ledger" in trial.events("full", "FailedPrepare")[0]
        assert "full" in trial.events("full", "FailedPrepare")[0]
        trial.delete_pod("before")
        (trial.node.state_dir / "filler").unlink()
        await trial.running("full")
        await trial.ended("before")
        await trial.clean()
        assert await trial.agent.terminate() == 0


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Let a folder be a disk of its own, of two megabytes."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"small", bytes(folder), b"tmpfs", 0, b"size=2m") == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        libc.umount2(bytes(folder), 2)


def fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return
