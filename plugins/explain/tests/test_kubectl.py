"""``kubectl dragoman`` becomes ``dragoman``, with the same arguments and exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_MAIN = "import sys; sys.argv = sys.argv[1:]; from dragoman_explain.kubectl import main; main()"


def ran(script: Path, *arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _MAIN, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": str(path)})


def program(folder: Path) -> Path:
    folder.mkdir()
    made = folder / "dragoman"
    made.write_text('#!/bin/sh\necho "$0 $*"\nexit 3\n')
    made.chmod(0o755)
    return made


def test_the_program_of_the_same_installation_runs_with_the_arguments(tmp_path: Path) -> None:
    beside, elsewhere = program(tmp_path / "bin"), program(tmp_path / "other")
    result = ran(tmp_path / "bin" / "kubectl-dragoman", "explain", "claim/a b", path=elsewhere.parent)
    assert (result.stdout, result.returncode) == (f"{beside} explain claim/a b\n", 3)


def test_else_the_one_on_the_path_runs(tmp_path: Path) -> None:
    elsewhere = program(tmp_path / "other")
    result = ran(tmp_path / "bin" / "kubectl-dragoman", "explain", path=elsewhere.parent)
    assert (result.stdout, result.returncode) == (f"{elsewhere} explain\n", 3)


def test_without_the_program_it_says_what_to_install(tmp_path: Path) -> None:
    result = ran(tmp_path / "kubectl-dragoman", "explain", path=tmp_path)
    assert result.returncode == 127
    assert "pip install dragoman" in result.stderr
