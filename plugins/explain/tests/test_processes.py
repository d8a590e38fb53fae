"""The processes that try nodes, and what becomes of them."""

from __future__ import annotations

import subprocess
import sys

KILLED = """
import os, signal
from dragoman_allocator.objects import Node
from dragoman_explain.nodes import at_all

PARENT = os.getpid()

class Killing:
    nodes = [Node() for _ in range(8)]

    def at(self, node):
        os.kill(PARENT, signal.SIGKILL)

at_all(Killing(), devices=10**9)
"""


def test_they_end_with_a_command_that_is_killed() -> None:
    # The output ends only when the last process that may write to it has ended.
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, timeout=300, check=False)
    assert done.returncode == -9
