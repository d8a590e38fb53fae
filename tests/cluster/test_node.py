"""A node leaves nothing on the machine, however it ends, and takes ready programs as they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import agent, build, files
from tests.cluster.__main__ import DISK
from tests.cluster.case import Case
from tests.cluster.node import UPLINKS, fresh_disk
from tests.cluster.shared import runtimes
from tests.cluster.tools import Failed, again, environment, run
from tests.cluster.waiting import until

ROOT = Path(__file__).parents[2]
STARTED = """
import sys
from tests.cluster.shared import runtimes
with runtimes.real() as runtime:
    runtime.start(runtime.create(runtime.run()))
    print(runtime.node.disk, flush=True)
    sys.stdin.read()
"""
"""A program that keeps a node with a pod until it is told to end."""


@pytest.mark.usefixtures("session_node")  # which needs root, and says so
def test_a_node_that_ends_leaves_nothing() -> None:
    with runtimes.real() as runtime:
        runtime.start(runtime.create(runtime.run()))
        disk = runtime.node.disk
        folders = _cgroups(disk)
        assert _processes(disk)
        assert all(folder.exists() for folder in folders)
    assert _left(disk, folders) == []


@pytest.mark.usefixtures("session_node")
def test_a_node_ends_with_who_started_it_and_the_next_one_sweeps_up_its_folder() -> None:
    command = [sys.executable, "-c", STARTED]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment(), stdin=pipe, stdout=pipe, text=True) as owner:
        assert owner.stdout
        disk = Path(owner.stdout.readline().strip())
        folders = _cgroups(disk)
        assert _processes(disk)
        owner.kill()
    until(lambda: not _processes(disk), "all processes of the node have ended")
    with fresh_disk():
        assert _left(disk, folders) == []


@pytest.mark.usefixtures("session_node")
def test_a_node_to_play_with_is_kept_until_it_is_taken_down() -> None:
    if DISK.exists():
        pytest.skip(f"somebody plays with a node: {DISK} is there")
    try:
        assert f"Kubernetes {build.version()} runs" in said("up")
        folders = _cgroups(DISK)
        assert agent.DRIVER in said("kubectl", "get", "resourceslices")
        assert "dummy0" in said("dragoman", "devices")
        assert UPLINKS[0] in said("exec", "ip", "link")
    finally:
        said("down")
    # The process that made its namespaces is told of their end, and ends then.
    until(lambda: not _left(DISK, folders), "nothing of it is left")


def said(*words: str) -> str:
    """Run ``python -m tests.cluster``, and give its output."""
    return run([sys.executable, "-m", "tests.cluster", *words], cwd=ROOT)


def test_ready_programs_are_taken_with_their_release_and_nothing_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = tmp_path / "kube-apiserver"
    server.write_text("#!/bin/sh\necho Kubernetes v1.35.9\n")
    server.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DRAGOMAN_KUBE_BIN", str(tmp_path))
    monkeypatch.delenv("DRAGOMAN_KUBE_VERSION", raising=False)
    assert (build.programs(), build.version(), build.minor()) == (tmp_path, "1.35.9", 35)
    assert not (tmp_path / "cache").exists()


def test_a_release_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_KUBE_VERSION", "latest")
    with pytest.raises(Failed, match="'latest' is no release of Kubernetes: name one such as 1"):
        build.version()


@pytest.mark.parametrize("failures", range(4))
def test_what_cannot_be_loaded_is_tried_again_but_not_for_ever(failures: int) -> None:
    tries: list[bool] = []

    def load() -> str:
        tries.append(len(tries) < failures)
        if tries[-1]:
            raise Failed("no route to host")
        return "loaded"

    if failures == 3:
        with pytest.raises(Failed, match="no route to host"):
            again(load, (0.0, 0.0))
    else:
        assert again(load, (0.0, 0.0)) == "loaded"
    assert len(tries) == min(failures + 1, 3)


def test_the_node_is_of_the_release_that_is_asked_for(case: Case) -> None:
    assert case.api.request("GET", "/version")["gitVersion"] == f"v{build.version()}"
    found = case.api.get("Node", files.NODE)
    assert found
    assert found["status"]["nodeInfo"]["kubeletVersion"] == f"v{build.version()}"


def _left(disk: Path, cgroups: list[Path]) -> list[str]:
    """Name what is left of a node on this machine: disk, cgroups, mounts and processes."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines() if disk.name in line]
    folders = [str(folder) for folder in (disk, *cgroups) if folder.exists()]
    return [*folders, *mounts, *_processes(disk)]


def _cgroups(disk: Path) -> list[Path]:
    return [Path(folder) for folder in json.loads((disk / "state.json").read_text())["cgroups"]]


def _processes(disk: Path) -> list[str]:
    """Give the command lines of processes that name the node's disk or are in its cgroup."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            cgroup, words = path.read_text(), (path.parent / "cmdline").read_text()
        except OSError:
            continue  # it has ended meanwhile
        # One that has ended, and that nobody has waited for yet, has no words.
        if words and (disk.name in cgroup or disk.name in words):
            lines.append(words.replace("\0", " "))
    return lines
