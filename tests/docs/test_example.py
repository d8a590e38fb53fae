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

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "dragoman-example"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Install the example beside this environment; give the variables with which Python finds it."""
    folder = tmp_path_factory.mktemp("example")
    source = shutil.copytree(EXAMPLE, folder / "source")
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder / "installed"))
    pip = (sys.executable, "-m", "pip", "install", *options, str(source))
    subprocess.run(pip, check=True, capture_output=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    return {**os.environ, "PYTHONPATH": str(folder / "installed")}


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
