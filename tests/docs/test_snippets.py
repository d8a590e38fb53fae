"""The programs of docs/writing-a-manager.md beside its example do what the page says of them."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman_hookspecs import JsonObject, NoSettings, RegisterCommands, RunController

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "writing-a-manager.md").read_text("utf-8")
EXAMPLE = DOCS / "examples" / "dragoman-example"
CLAIM: JsonObject = {"metadata": {"uid": "u-1"}}

QUEUE_TEST = """

class TestQueue(TestPorts):
    def test_the_link_has_the_queue_of_the_claim(self, bench, prepared):
        with Netlink() as netlink:
            assert netlink.link("br0-port0").queue_length == 50
"""


def blocks(section: int) -> list[str]:
    """Give the programs of a section of the page."""
    (text,) = re.findall(rf"^## {section}\. .*?(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.kernel
def test_a_parameter_of_its_own_reaches_the_link_as_the_page_shows_it(tmp_path: Path) -> None:
    parameters, tested = blocks(5)
    (call,) = re.findall(r"`(netlink\.add_link\(.*?txqlen.*?\))`", PAGE)
    module = (EXAMPLE / "src" / "dragoman_example" / "__init__.py").read_text("utf-8")
    (tmp_path / "dragoman_example.py").write_text(module.replace('netlink.add_link(name, "veth")', call) + parameters)
    suite = (EXAMPLE / "tests" / "test_example.py").read_text("utf-8")
    imports = "from dragoman_hookspecs import Parameters\nfrom dragoman_example import PortParameters\n"
    body = tested.partition("\n")[2]
    (tmp_path / "test_queue.py").write_text(imports + suite + QUEUE_TEST + body)
    test = "test_queue.py::TestQueue::test_the_link_has_the_queue_of_the_claim"
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test)

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert re.search(r"^1 passed", done.stdout, re.MULTILINE), done.stdout


class OneClaim:
    """A cluster that has one claim, which goes."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.metrics: Callable[[], str] = str

    def list(self, path: str) -> Sequence[JsonObject]:
        assert path == "/apis/resource.k8s.io/v1/resourceclaims"
        return [CLAIM]

    def watch(self, path: str, changed: Callable[[str, JsonObject], None], stopped: threading.Event) -> None:
        del path, stopped
        for type_, object_ in (("ADDED", CLAIM), ("SYNCED", {}), ("DELETED", CLAIM)):
            changed(type_, object_)
            self.shown.append(self.metrics())


def descriptors() -> Any:
    """The descriptors of the page's controller and command."""
    (program,) = blocks(6)
    names: dict[str, Any] = {}
    exec(compile(program, "writing-a-manager.md", "exec"), names)
    return names["plugin"]


def test_the_controller_of_the_page_counts_the_claims() -> None:
    controller, _ = descriptors()
    cluster: Any = OneClaim()

    def take(metrics: Callable[[], str]) -> None:
        cluster.metrics = metrics

    controller.create(None, NoSettings()).run_controller(
        RunController(cluster=cluster, stopped=threading.Event(), metrics=take)
    )

    assert cluster.shown == ["claims 1\n", "claims 1\n", "claims 0\n"]


def test_the_command_of_the_page_counts_the_claims() -> None:
    _, commands = descriptors()
    added: list[Any] = []

    @contextlib.contextmanager
    def connect(*_: object, **__: object) -> Iterator[Any]:
        yield OneClaim()

    commands.create(None, NoSettings()).register_commands(RegisterCommands(add=added.append, connect=connect))

    (command,) = added
    assert command.name == "count-claims"
    assert CliRunner().invoke(command).output == "1\n"
