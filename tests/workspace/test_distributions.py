"""A distribution is named wherever distributions are listed, and all are made alike."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

WORKSPACE = Path(__file__).resolve().parents[2]
FOLDERS = sorted(
    path.parent.relative_to(WORKSPACE)
    for pattern in ("hookspecs", "core/*", "plugins/*")
    for path in WORKSPACE.glob(f"{pattern}/pyproject.toml")
)
PLUGINS = [folder for folder in FOLDERS if folder.parts[0] == "plugins"]


def read(path: Path | str) -> dict[str, Any]:
    return tomllib.loads((WORKSPACE / path).read_text("utf-8"))


def ini(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(WORKSPACE / name)
    return parser


def name_of(folder: Path) -> str:
    name: str = read(folder / "pyproject.toml")["project"]["name"]
    return name


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
class TestDistribution:
    def test_is_laid_out_as_all_are(self, folder: Path) -> None:
        package = WORKSPACE / folder / "src" / name_of(folder).replace("-", "_")

        assert (package / "__init__.py").is_file()
        assert (package / "py.typed").is_file()
        assert (WORKSPACE / folder / "README.md").read_text().startswith(f"# {name_of(folder)}\n")
        assert list((WORKSPACE / folder / "tests").rglob("test_*.py"))

    def test_has_the_version_python_and_license_of_all(self, folder: Path) -> None:
        shared = ("version", "requires-python", "license")
        project, first = (read(each / "pyproject.toml")["project"] for each in (folder, FOLDERS[0]))

        assert [project[key] for key in shared] == [first[key] for key in shared]

    def test_is_known_to_the_tools(self, folder: Path) -> None:
        tool, package = read("pyproject.toml")["tool"], name_of(folder).replace("-", "_")

        assert tool["uv"]["sources"][name_of(folder)] == {"workspace": True}
        assert package in tool["ruff"]["lint"]["isort"]["known-first-party"]
        assert f"{folder}/src" in tool["mypy"]["mypy_path"].split(":")
        assert package in ini(".importlinter")["importlinter"]["root_packages"].split()
        assert package in ini(".importlinter")["importlinter:contract:circles"]["ancestors"].split()
        assert f"{folder}/src" in ini("tox.ini")["testenv:imports"]["set_env"].partition("= ")[2].split("{:}")

    def test_is_installed_with_the_others(self, folder: Path) -> None:
        assert re.search(rf"^-e \./{folder}(\[|$)", ini("tox.ini")["distributions"]["all"], re.MULTILINE)


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_wheel_carries_the_license(folder: Path) -> None:
    # hatchling packs what is named so beside pyproject.toml, and nothing from above it.
    assert (WORKSPACE / folder / "LICENSE").read_text("utf-8") == (WORKSPACE / "LICENSE").read_text("utf-8")


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
class TestPlugin:
    def test_has_one_name_for_distribution_package_and_entry_point(self, folder: Path) -> None:
        project = read(folder / "pyproject.toml")["project"]
        (entry_point,) = project["entry-points"]["dragoman.plugins"].items()

        assert project["name"] == f"dragoman-{folder.name}"
        assert entry_point[0] == folder.name
        assert entry_point[1].split(":")[0].split(".")[0] == f"dragoman_{folder.name.replace('-', '_')}"

    def test_requires_a_bounded_range_of_the_plugin_api(self, folder: Path) -> None:
        (required,) = [
            text
            for text in read(folder / "pyproject.toml")["project"]["dependencies"]
            if text.startswith("dragoman-hookspecs")
        ]

        assert re.fullmatch(r"dragoman-hookspecs>=\d+\.\d+,<\d+\.\d+", required)

    def test_is_tested_alone(self, folder: Path) -> None:
        tox = ini("tox.ini")
        (section,) = [tox[name] for name in tox.sections() if name.startswith("testenv:isolated-")]

        assert re.search(rf"isolated-\{{.*\b{folder.name}\b.*\}}", tox["tox"]["env_list"])
        assert re.search(rf"\b{folder.name}\b", section.name)
        assert f"{folder.name}: -e ./{folder}" in section["deps"]
        assert f"{folder.name}: pytest --user-namespace {{posargs:{folder}}}" in section["commands"]

    def test_stands_beside_the_others_in_the_layers(self, folder: Path) -> None:
        layers = ini(".importlinter")["importlinter:contract:distributions"]["layers"].splitlines()
        (line,) = [line for line in layers if "dragoman |" in line]

        assert f"dragoman_{folder.name.replace('-', '_')}" in line.split(" | ")
