"""The demo as a person runs it: a process of its own, in namespaces of its own."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from dragoman_testkit import netns

pytestmark = pytest.mark.kernel


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=500, check=False)


def links() -> list[str]:
    return sorted(name for _, name in socket.if_nameindex())


def test_the_demo_runs_green_and_leaves_this_machine_as_it_was() -> None:
    # In the machine's own network others may come and go meanwhile.
    with netns.private_host():
        before = links()
        done = run("-m", "dragoman_testkit.sandbox.demo")
        assert links() == before
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "no restart" in done.stdout
    assert "nothing is left" in done.stdout


def test_a_step_that_differs_is_shown_with_the_agents_log_and_fails_the_demo() -> None:
    script = """
import sys
from dragoman_testkit.sandbox import private
private.enter()
from dragoman_testkit.sandbox.demo_run import run
async def step(scene):
    scene.story.step("What cannot be")
    await scene.node.agent.start()
    scene.story.check("there are no links", scene.links_before, ["none"])
sys.exit(run([step]))
"""
    done = run("-c", script)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "there are no links" in done.stdout
    assert "expected  ['none']" in done.stdout
    assert "actual    ['lo', 'uplink0'" in done.stdout
    assert "is served as driver net.dragoman.dev" in done.stdout
