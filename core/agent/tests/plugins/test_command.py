"""``dragoman plugins`` where no agent runs, over distributions that are really there."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from loguru import logger

from dragoman.cli.main import Options
from dragoman.cli.plugins import plugins

GOOD = 'plugin = DeviceManager(type="goodType", settings_key="cliGood", create=Manager)'

HASTY = """
class Hasty:
    def __init__(self, context, settings): ...
    @hookimpl
    def register_commands(self, request):
        raise ValueError("no words")
plugin = Commands(settings_key="cliHasty", create=Hasty)
"""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    logger.remove()
    root.handlers[:] = handlers
    root.setLevel(level)


def run(tmp_path: Path, settings: str, *arguments: str) -> Result:
    file = tmp_path / "settings.yaml"
    file.write_text(f"paths: {{runDir: {tmp_path}/run, stateDir: {tmp_path}/lib}}\n{settings}")
    return CliRunner().invoke(plugins, arguments, obj=Options(config=file))


def test_json_has_every_field_of_every_plugin(site: Any, tmp_path: Path) -> None:
    site.install("dragoman-cli-good", GOOD, version="2.5")
    site.install("dragoman-cli-bad", "import no_such_module_anywhere")
    result = run(tmp_path, "", "-o", "json")
    found = {status["name"]: status for status in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert found["cli-good"] == {
        "name": "cli-good",
        "distribution": "dragoman-cli-good",
        "version": "2.5",
        "api": "<0.2,>=0.1",
        "kind": "manager",
        "type": "goodType",
        "settingsKey": "cliGood",
        "hooks": ["discover_devices", "setup_device", "free_device", "recover_devices"],
        "state": "loaded",
        "reason": "",
    }
    assert found["cli-bad"]["state"] == "failed"
    assert "no_such_module_anywhere" in found["cli-bad"]["reason"]


def test_the_table_names_state_and_reason(site: Any, tmp_path: Path) -> None:
    site.install("dragoman-cli-good", GOOD)
    result = run(tmp_path, "deviceManagerConfigs: {cliGood: {counts: 3}}")
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("cli-good")]
    assert result.stdout.splitlines()[0].split() == ["NAME", "VERSION", "API", "KIND", "STATE", "REASON", "HOOKS"]
    assert "invalid-settings" in line
    assert "deviceManagerConfigs.cliGood.counts: is not a known key" in line


def test_why_a_plugin_is_left_out_is_told_by_the_table_alone(site: Any, tmp_path: Path) -> None:
    site.install("dragoman-cli-bad", "import no_such_module_anywhere")
    told: list[str] = []
    logger.add(told.append, level="INFO", format="{message}")
    result = run(tmp_path, "")
    assert (result.stdout + "".join(told)).count("no_such_module_anywhere") == 1


def test_why_commands_are_left_out_is_told_beside_the_table(site: Any, tmp_path: Path) -> None:
    site.install("dragoman-cli-hasty", HASTY)
    site.install("dragoman-cli-bad", "import no_such_module_anywhere")
    result = run(tmp_path, "", "-o", "json")
    (hasty,) = [status for status in json.loads(result.stdout) if status["name"] == "cli-hasty"]
    assert hasty["state"] == "loaded"
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("Warning: plugin cli-hasty of dragoman-cli-hasty")
    assert warning.endswith("register_commands raised ValueError: no words")


def test_a_start_that_would_be_refused_is_told_after_the_table_with_exit_code_1(site: Any, tmp_path: Path) -> None:
    site.install("dragoman-cli-good", GOOD)
    result = run(tmp_path, "requiredPlugins: [cli-absent]")
    assert result.exit_code == 1
    assert "cli-good" in result.stdout
    assert result.stderr == "Error: start refused: plugin cli-absent is required and not installed\n"


def test_nothing_is_left_in_the_state_folder(site: Any, tmp_path: Path) -> None:
    site.install("dragoman-cli-good", GOOD)
    run(tmp_path, "")
    assert not (tmp_path / "lib").exists()
