"""Programs of this machine, run to their end."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PAUSES = (5.0, 20.0, 60.0)
"""Seconds before another try of what loads from the network."""


def environment(**more: str) -> dict[str, str]:
    """Give this process's variables and more; settings of the agent are not among them, they would be the node's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")} | more


class Failed(AssertionError):
    """A program that had to succeed did not."""


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limit: float | None = None,
) -> str:
    """Run a program and give what it prints. Raises ``Failed`` with what it says."""
    try:
        done = subprocess.run(command, cwd=cwd, env=env, timeout=limit, text=True, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise Failed(f"{command[0]}: no such program on this machine") from error
    if done.returncode:
        said = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-15:])
        raise Failed(f"{shlex.join(map(str, command))}: exit code {done.returncode}: {said}")
    return done.stdout


def again(work: Callable[[], T], pauses: Sequence[float] = PAUSES) -> T:
    """Do what loads from the network, again after a while where it fails: archives and proxies have bad moments.

    Raises ``Failed`` as the last try does.
    """
    for pause in pauses:
        try:
            return work()
        except Failed as error:
            sys.stderr.write(f"tried again in {pause:g} s: {error}\n")
            time.sleep(pause)
    return work()
