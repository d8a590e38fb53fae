"""What the command line takes from plugins: schemas, kinds and commands. The plugins are real distributions on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest

from dragoman.cli import descriptors
from dragoman_hookspecs import Cluster

Install = Callable[..., list[EntryPoint]]

MANAGER = """
from dataclasses import dataclass
from dragoman_hookspecs import DeviceManager
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    count: int = 0
def create(context, settings):
    raise RuntimeError("the command line must not make a device manager")
plugin = DeviceManager(type="sr-iov", settings_key="NAME", settings=Settings, create=create)
"""
COMMANDS = """
import click
from dragoman_hookspecs import Commands, hookimpl
class Plugin:
    @hookimpl
    def register_commands(self, request):
        BODY
plugin = Commands(settings_key="NAME", create=lambda context, settings: Plugin())
"""
ADD = "request.add(click.Command('hello', callback=lambda: None))"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Write distributions: name of the entry point to the source of its module."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**sources: str) -> list[EntryPoint]:
        for name, source in sources.items():
            module = f"{name}_{tmp_path.name.replace('-', '_')}"
            (tmp_path / f"{module}.py").write_text(source.replace("NAME", name))
            info = tmp_path / f"dragoman_{name}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: dragoman-{name}\nVersion: 1.0\nRequires-Dist: dragoman-hookspecs\n"
            )
            (info / "entry_points.txt").write_text(f"[dragoman.plugins]\n{name} = {module}:plugin\n")
        return [entry for found in distributions(path=[str(tmp_path)]) for entry in found.entry_points]

    return write


def test_schemas_and_kinds_come_from_descriptors_without_making_the_plugins(install: Install) -> None:
    found = descriptors.installed(install(sriov=MANAGER, broken="raise SystemExit(3)", odd="plugin = 3"))
    [settings] = [sections["sriov"] for sections in [descriptors.sections(found)["deviceManagerConfigs"]]]
    assert settings.__name__ == "Settings"
    [kind] = descriptors.kinds(found)
    assert kind.type == "sr-iov"


def nowhere(
    kubeconfig: Path | None, context: str | None, /, request_timeout: float | None = None
) -> AbstractContextManager[Cluster]:
    raise AssertionError("no command connects while it is registered")


def test_command_of_a_plugin_is_found_by_its_name(install: Install) -> None:
    entries = install(greet=COMMANDS.replace("BODY", ADD), sriov=MANAGER)
    commands, problems = descriptors.commands((), entries, connect=nowhere)
    assert list(commands) == ["hello"]
    assert problems == []


def test_command_name_that_is_taken_is_refused_and_both_are_named(install: Install) -> None:
    source = COMMANDS.replace("BODY", ADD)
    commands, [problem] = descriptors.commands((), install(aaa=source, bbb=source), connect=nowhere)
    assert list(commands) == ["hello"]
    assert "dragoman-aaa" in problem
    assert "dragoman-bbb" in problem


def test_command_of_the_program_itself_cannot_be_replaced(install: Install) -> None:
    entries = install(greet=COMMANDS.replace("BODY", ADD))
    commands, [problem] = descriptors.commands(("hello",), entries, connect=nowhere)
    assert commands == {}
    assert "dragoman itself" in problem


@pytest.mark.parametrize(
    "body",
    [
        "raise SystemExit(3)",
        "raise RuntimeError('broken')",
        "request.add('no command')",
        f"{ADD.replace('hello', 'half')}; raise RuntimeError('broken')",
    ],
)
def test_plugin_whose_registration_fails_costs_its_own_commands_only(install: Install, body: str) -> None:
    entries = install(bad=COMMANDS.replace("BODY", body), greet=COMMANDS.replace("BODY", ADD))
    commands, [problem] = descriptors.commands((), entries, connect=nowhere)
    assert list(commands) == ["hello"]
    assert "dragoman-bad" in problem


def test_plugins_without_commands_are_not_made(install: Install) -> None:
    assert descriptors.commands((), install(sriov=MANAGER), connect=nowhere) == ({}, [])
    assert [name for name in sys.modules if name.startswith("sriov_")] != []
