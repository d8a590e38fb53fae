"""What the pages say is so: links, generated parts, settings and manifests, commands, environments."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "hookspecs/*.md", "core/*/*.md", "plugins/*/*.md")
    for path in WORKSPACE.glob(pattern)
)
TEXT = {str(path.relative_to(WORKSPACE)): path.read_text("utf-8") for path in PAGES}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((sys.executable, *arguments), capture_output=True, text=True, check=False, cwd=WORKSPACE)


def blocks(page: str, language: str) -> list[str]:
    """Give the code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT[page], re.DOTALL | re.MULTILINE)


def commands(program: str) -> Iterator[str]:
    """Give the commands of a program that the pages tell a reader to type."""
    for page in TEXT:
        for block in blocks(page, "console"):
            for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
                plain = line.partition("#")[0]
                yield from (part.strip() for part in plain.split("&&") if part.split()[0] == program)


def test_the_generated_parts_are_up_to_date() -> None:
    done = run("tools/docs.py", "--check")

    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_every_link_to_a_file_leads_to_one() -> None:
    links = [(page, link) for page in TEXT for link in re.findall(r"\]\((?!https?:)([^)#]+)", TEXT[page])]

    assert ("README.md", "docs/states.md") in links
    assert [link for page, link in links if not (WORKSPACE / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("page", [page for page in TEXT if blocks(page, "yaml")])
def test_settings_and_manifests_pass_the_check_of_the_command_line(page: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.yaml" for number, _ in enumerate(blocks(page, "yaml"))]
    for file, text in zip(files, blocks(page, "yaml"), strict=True):
        file.write_text(text)

    done = run("-m", "dragoman", "config", "check", *map(str, files))

    assert done.returncode == 0, done.stdout
    assert "0 faults" in done.stderr


def test_what_the_first_page_shows_is_what_runs_on_a_real_node() -> None:
    deploy = WORKSPACE / "deploy"
    examples = {file.read_text("utf-8") for file in (deploy / "settings.yaml", *(deploy / "examples").glob("*.yaml"))}

    assert len(blocks("README.md", "yaml")) >= 2
    assert [block for block in blocks("README.md", "yaml") if block not in examples] == []


def test_that_check_would_find_a_misspelt_parameter_on_the_page(tmp_path: Path) -> None:
    (block,) = [text for text in blocks("README.md", "yaml") if "podIfName" in text]
    (tmp_path / "misspelt.yaml").write_text(block.replace("podIfName", "podIfname"))

    done = run("-m", "dragoman", "config", "check", str(tmp_path / "misspelt.yaml"))

    assert done.returncode == 1
    assert "podIfname" in done.stdout


@pytest.mark.parametrize("command", sorted(set(commands("dragoman"))))
def test_a_command_on_a_page_exists(command: str) -> None:
    ours = command.partition(" -- ")[0]
    words = [word for word in ours.split()[1:] if re.fullmatch("[a-z]+", word)]

    done = run("-m", "dragoman", *words, "--help")

    assert done.returncode == 0, done.stderr
    assert f"Usage: dragoman {' '.join(words)}" in done.stdout


@pytest.mark.parametrize("page", [page for page in TEXT if blocks(page, "python") and page != "docs/hooks.md"])
def test_a_program_on_a_page_is_one(page: str) -> None:
    for number, block in enumerate(blocks(page, "python")):
        compile(block, f"{page}, block {number}", "exec")


def test_every_environment_on_a_page_is_one_of_tox() -> None:
    named = {name for page in TEXT for name in re.findall(r"tox run -e ([a-z-]+)", TEXT[page])}
    sections = re.findall(r"^\[testenv:(.*)\]$", (WORKSPACE / "tox.ini").read_text(), re.MULTILINE)
    known = {"py", *(section for section in sections if "{" not in section)}
    known |= {f"isolated-{folder.name}" for folder in (WORKSPACE / "plugins").iterdir()}

    assert {"py", "demo", "lint"} <= named
    assert named <= known


def test_every_distribution_is_in_the_table_of_the_first_page() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| \[`(.*?)`\]", TEXT["README.md"], re.MULTILINE)
    found = {
        re.search('^name = "(.*)"$', path.read_text(), re.MULTILINE)[1]: str(path.parent.relative_to(WORKSPACE))  # type: ignore[index]  # no project is without a name
        for path in WORKSPACE.glob("*/**/pyproject.toml")
        if "docs" not in path.parts and ".tox" not in path.parts
    }

    assert dict(rows) == found
