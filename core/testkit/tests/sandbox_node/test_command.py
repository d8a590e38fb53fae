"""``dragoman sandbox`` as a person uses it, in two terminals."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.cli.main import Options
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.command import NoSandbox, sandbox
from dragoman_testkit.sandbox.play import read_settings
from dragoman_testkit.sandbox.play_view import render

DRAGOMAN = (sys.executable, "-m", "dragoman")


class Terminal:
    """The second terminal: commands with the variable that the first one has named."""

    def __init__(self, config: str) -> None:
        self.config = config

    def run(self, *arguments: str, given: str = "", code: int = 0) -> str:
        """Run a command, which must end with that code, and give what it writes."""
        done = subprocess.run(
            [*DRAGOMAN, *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "DRAGOMAN_CONFIG": self.config},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    node = subprocess.Popen([*DRAGOMAN, "sandbox"], stdout=subprocess.PIPE, text=True)
    assert node.stdout
    config = ""
    for line in node.stdout:
        config = line.partition("DRAGOMAN_CONFIG=")[2].strip() or config
        if "Ctrl-C" in line:
            break
    assert config, "the sandbox ended before it was ready"
    try:
        yield Terminal(config)
    finally:
        node.send_signal(signal.SIGINT)
        rest, _ = node.communicate(timeout=300)
    assert node.returncode == 0, rest
    assert not Path(config).parent.exists()


@pytest.mark.kernel
def test_a_pod_is_applied_looked_into_and_deleted_and_ctrl_c_removes_everything(terminal: Terminal) -> None:
    example = Path(terminal.config).with_name("example.yaml")
    applied = terminal.run("sandbox", "apply", "-f", str(example)).splitlines()
    assert applied == ["resourceclaimtemplate/example created", "pod/example created"]
    assert terminal.run("sandbox", "apply", "-f", "-", given=example.read_text()).splitlines() == [
        "resourceclaimtemplate/example unchanged",
        "pod/example unchanged",
    ]
    while "Running" not in (shown := terminal.run("sandbox", "get", "pods")):
        assert "Pending" in shown
    assert terminal.run("sandbox", "exec", "example", "--", *READ).strip() == "net1"
    assert "unchanged" in terminal.run("sandbox", "apply", "-f", str(example))
    assert "nodeName: sandbox" in terminal.run("sandbox", "get", "pod", "example", "-o", "yaml")
    assert "dummy0" in terminal.run("sandbox", "get", "claims")
    assert "default/example-nic-" in terminal.run("allocations")
    assert "uplink0" in terminal.run("sandbox", "host", "--", "ip", "-br", "link")
    assert '"name": "example"' in terminal.run("sandbox", "host", "--", sys.executable, "-c", PODS)
    assert terminal.run("sandbox", "agent", "kill").strip() == "the agent is gone"
    assert "the agent does not run" in terminal.run("sandbox", "agent", "stop", code=1)
    assert terminal.run("sandbox", "agent", "start").startswith("the agent runs")
    assert terminal.run("sandbox", "delete", "pod", "example").strip() == "pods/example deleted"
    assert terminal.run("sandbox", "get", "claims").strip() == "there are no resourceclaims"
    terminal.run("sandbox", "apply", "-f", "-", given=example.read_text())
    assert terminal.run("sandbox", "get", "widgets", code=1).startswith("Error: the sandbox knows no kind widgets")
    assert "no such kind" in terminal.run("sandbox", "apply", "-f", "-", given="kind: A\napiVersion: b", code=1)
    assert terminal.run("sandbox", "apply", "-f", "-", given=LAB).splitlines() == ["deviceclass/lab changed"]
    assert "x is refused: spec.containers: Required" in terminal.run("sandbox", "apply", "-f", "-", given=BAD, code=1)
    assert "x" not in terminal.run("sandbox", "get", "pods").split()
    assert "a value holds itself" in terminal.run("sandbox", "apply", "-f", "-", given="a: &a [*a]", code=1)


LAB = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: lab}
spec: {selectors: [{cel: {expression: device.driver == "net.dragoman.dev"}}]}
"""
BAD = """
apiVersion: v1
kind: Namespace
metadata: {name: first}
---
apiVersion: v1
kind: Pod
metadata: {name: x}
"""
PODS = """
import os, urllib.request, yaml
with open(os.environ["DRAGOMAN_CONFIG"]) as settings:
    server = yaml.safe_load(settings)["kubernetes"]["server"]
print(urllib.request.urlopen(f"{server}/api/v1/pods").read().decode())
"""
READ = (sys.executable, "-m", "dragoman_metadata.cli", "show", "--pod-claim", "nic", "--get", "interface")


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        ("pod sh -c true", "-c"),
        ("pod ls -lan", "-lan"),
        ("-c app pod ls --namespace=x", "--namespace=x"),
        ("pod ip --help", "--help"),
    ],
)
def test_exec_hints_at_the_two_dashes_where_it_would_take_an_option_of_the_command(words: str, taken: str) -> None:
    result = CliRunner().invoke(sandbox, ["exec", *words.split()])
    assert result.exit_code == 2
    assert f"{taken} would be an option of exec itself: write -- before the command" in result.stderr


@pytest.mark.parametrize("words", ["pod -- sh -c true", "pod ip -br address", "-n x -c app pod ls", "pod -c app ls"])
def test_exec_takes_its_own_options_and_leaves_those_that_it_does_not_know(words: str) -> None:
    result = CliRunner().invoke(sandbox, ["exec", *words.split()], obj=Options())
    assert isinstance(result.exception, NoSandbox)


def test_the_help_of_the_program_has_the_whole_line_of_a_plugins_command(tmp_path: Path) -> None:
    said = " ".join(Terminal(str(tmp_path / "settings.yaml")).run("--help").split())
    assert "sandbox Run a node to play with, in namespaces of its own, until Ctrl-C; or talk to one that runs." in said


@pytest.mark.parametrize("was_there", [False, True])
def test_without_a_sandbox_the_commands_say_how_to_get_one(was_there: bool, tmp_path: Path) -> None:
    if was_there:
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(str(tmp_path / "sandbox.sock"))
    said = Terminal(str(tmp_path / "settings.yaml")).run("sandbox", "get", "pods", code=1)
    assert said == "Error: no sandbox is found: run dragoman sandbox, and set DRAGOMAN_CONFIG as it says\n"


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("text", "why"),
    [("pools: 5", "pools: must be"), ("[", "line 1"), ("hello", "must hold an object"), ("a: &a [*a]", "aliases")],
)
def test_settings_that_are_none_are_refused_before_a_node_is_made(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(text)
    words = [*DRAGOMAN, "sandbox", "--with", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: {file}: ")
    assert why in done.stderr


def test_settings_of_a_node_do_not_lead_out_of_the_sandbox(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("{nodeName: n, kubernetes: {kubeconfig: /k}, paths: {stateDir: /s}, health: {interval: 5}}")
    assert read_settings(file) == ({"health": {"interval": 5}}, ["kubernetes", "nodeName", "paths"])


def test_a_file_without_objects_is_told(tmp_path: Path) -> None:
    said = Terminal(str(tmp_path / "settings.yaml")).run("sandbox", "apply", "-f", "-", code=1)
    assert said == "Error: <stdin> holds no object\n"


def test_a_class_without_a_body_is_shown() -> None:
    kind: JsonObject = {"metadata": {"name": "none"}}
    assert render("deviceclasses", [kind], "table").splitlines()[1].split() == ["none", "-"]


def test_a_pod_that_waits_is_shown_with_the_reason() -> None:
    waiting = {"reason": "CreateContainerError", "message": "unresolvable"}
    status = {"name": "app", "restartCount": 2, "state": {"waiting": waiting}}
    pod: JsonObject = {"metadata": {"name": "web"}, "status": {"phase": "Pending", "containerStatuses": [status]}}
    _, line = render("pods", [pod], "table").splitlines()
    assert line.split() == ["web", "Pending", "2", "CreateContainerError:", "unresolvable"]
