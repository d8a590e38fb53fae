"""The manager of docs/writing-a-manager.md, installed as third parties do: it keeps the contract, and it is found."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "dragoman-example"
_FILE = r"^`([^`\n]+)`:\n\n<!-- generated: [^\n]+ -->\n\n```\w+\n(.*?)^```$"


def written(folder: Path) -> Path:
    """Make what a reader of the page has: the files that it shows, under the names that it gives them, and no other."""
    for name, text in re.findall(_FILE, (DOCS / "writing-a-manager.md").read_text("utf-8"), re.DOTALL | re.MULTILINE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Install the example beside this environment; give the variables with which Python finds it."""
    folder = tmp_path_factory.mktemp("example")
    source = written(folder / "source")
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder / "installed"))
    pip = (sys.executable, "-m", "pip", "install", *options, str(source))
    subprocess.run(pip, check=True, capture_output=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    return {**os.environ, "PYTHONPATH": str(folder / "installed")}


def test_the_page_shows_every_file_of_the_example(tmp_path: Path) -> None:
    written(tmp_path)

    made, there = ({each.relative_to(folder) for each in folder.rglob("*.*")} for folder in (tmp_path, EXAMPLE))
    assert made == {each for each in there if "__pycache__" not in each.parts}


def test_it_is_one_module_of_at_most_sixty_lines() -> None:
    (module,) = EXAMPLE.rglob("src/**/*.py")

    assert len(module.read_text().splitlines()) <= 60


@pytest.mark.kernel
def test_its_tests_pass_the_contract_suite_among_them(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    command = (sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider")

    done = subprocess.run(command, cwd=tmp_path, env=installed, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) > 20


def test_it_shows_up_in_the_list_of_plugins(installed: dict[str, str], tmp_path: Path) -> None:
    settings = {
        "paths": {"runDir": str(tmp_path)},
        "deviceManagerConfigs": {"bridgePort": {"bridge": "br0"}},
        "requiredPlugins": ["dragoman-example"],
    }
    (tmp_path / "settings.yaml").write_text(json.dumps(settings))
    command = (sys.executable, "-m", "dragoman", "--config", str(tmp_path / "settings.yaml"), "plugins", "-o", "json")

    done = subprocess.run(command, env=installed, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    (entry,) = [plugin for plugin in json.loads(done.stdout) if plugin["name"] == "example"]
    assert (entry["distribution"], entry["state"], entry["reason"]) == ("dragoman-example", "loaded", "")
    assert entry["type"] == "bridge-port"
