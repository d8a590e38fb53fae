"""An agent ends itself at every place where it matters; the next one, over the same disk and kernel, finds its way.

The real ledger, plugins, links and files in private network namespaces; of the cluster, fakes in memory. Each scenario
runs in a process of its own (``runner``), which forks every case after it has only imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[4]
MEMORY = Path("/dev/shm")
MODULE = "core.agent.tests.crash.runner"

SCENARIOS = {
    "prepare": "the kubelet asks for a claim, and again",
    "prepare-given-up": "the kubelet asks for a claim, and then gives it back",
    "attach": "the runtime starts a pod",
    "attach-pod-gone": "the runtime starts a pod, which ends while no agent is there",
    "detach": "the runtime stops a pod",
    "free": "the kubelet gives a claim back",
    "free-attached": "the kubelet gives a claim back whose devices are in a pod",
    "recovery": "an agent recovers from everything that can be unfinished",
    "handover-give-up": "an agent gives up the lock in the midst of calls",
    "handover-take": "an agent takes the lock over, and the one that gave it up takes it back",
}
NO_COMMITS = frozenset({"handover-take"})


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a process that dies leaves the same there, and fsync is free."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="dragoman-crash-") as made:
        yield Path(made)


def run(*arguments: str) -> Any:
    command = [sys.executable, "-m", MODULE, *arguments]
    return json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_wherever_the_agent_dies_nothing_is_left_wrong_and_no_guard_is_open_without_its_device(
    scenario: str, folder: Path
) -> None:
    report = run(scenario, str(folder))
    boundaries, failures = report["boundaries"], report["failures"]
    told = [
        f"{SCENARIOS[scenario]}, ended at {number} ({boundaries[int(number) - 1]}):\n    " + "\n    ".join(problems)
        for number, problems in failures.items()
    ]
    assert not told, "\n".join([f"{len(told)} of {report['tried']} places", *told])
    kinds = {"commit", "hook", "netlink", "file"} - ({"commit", "netlink"} if scenario in NO_COMMITS else set())
    assert {label.split()[0] for label in boundaries} == kinds
    assert not list(folder.iterdir())


def test_every_scenario_is_run() -> None:
    assert run() == list(SCENARIOS)
