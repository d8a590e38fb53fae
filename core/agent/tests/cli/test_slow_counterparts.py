"""A counterpart that says nothing: who waits for it is told so, and ends at once when asked to."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ..kube.execplugin import kubeconfig  # noqa: TID252 - tests have no package of their own


def start(folder: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """Start the program with settings of this folder."""
    settings = folder / "s.yaml"
    # Short names: a socket has 107 bytes for its path.
    names = {"runDir": "run", "stateDir": "lib", "cdiDir": "cdi", "kubeletRoot": "k"}
    paths = ", ".join(f"{key}: {folder / name}" for key, name in names.items())
    kubernetes = ", ".join(f"{name}: {value}" for name, value in more.items())
    settings.write_text(f"driverName: a.b\npaths: {{{paths}}}\nkubernetes: {{{kubernetes}}}\n")
    command = [sys.executable, "-m", "dragoman", "--config", str(settings), *arguments]
    environ = {**os.environ, "KUBECONFIG": str(folder / "none")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)


def test_a_command_says_that_it_waits_for_the_agent(tmp_path: Path) -> None:
    path = tmp_path / "run" / "control.sock"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as agent, contextlib.ExitStack() as stack:
        agent.bind(str(path))
        agent.listen()
        commands = (("devices",), ("allocations",), ("plugins",), ("agent", "status"))
        running = [
            stack.enter_context(start(tmp_path, *arguments, server="http://127.0.0.1:1")) for arguments in commands
        ]
        try:
            said = [command.stderr.readline() for command in running if command.stderr]
        finally:
            for command in running:
                command.kill()
    assert said == [f"Waiting for the agent at {path} to answer, 30 s at most\n"] * 4


@pytest.mark.parametrize(
    ("arguments", "number", "code"),
    [
        (["agent"], signal.SIGTERM, 0),
        (["controller", "--listen", "off"], signal.SIGTERM, 0),
        (["agent", "withdraw"], signal.SIGINT, 1),
        (["pools"], signal.SIGINT, 1),
    ],
    ids=["agent", "controller", "withdraw", "pools"],
)
def test_who_waits_for_credentials_ends_when_asked_to_and_leaves_no_exec_plugin_behind(
    arguments: list[str], number: int, code: int, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    file = kubeconfig(tmp_path, f'sh -c "echo begun; sleep 1000; true" > {pipe}; true')
    with start(tmp_path, *arguments, kubeconfig=str(file)) as program:
        try:
            assert select.select([reader], [], [], 60)[0], program.communicate(timeout=5)
            os.read(reader, 100)
            program.send_signal(number)
            # Half of what the plugin would have got.
            program.communicate(timeout=30)
        finally:
            program.kill()
    assert program.returncode == code
    assert select.select([reader], [], [], 30)[0], "nobody holds the pipe any more"
    assert os.read(reader, 1) == b""
    os.close(reader)
