"""``kubectl dragoman …``: kubectl runs ``kubectl-dragoman``, which hands its arguments to ``dragoman``."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_NOT_FOUND = 127


def main() -> None:
    """Become ``dragoman``; exit code 127 where it is not installed."""
    program = program_beside(Path(sys.argv[0]))
    if program is None:
        sys.stderr.write("kubectl-dragoman: the program dragoman is not installed: pip install dragoman\n")
        sys.exit(_NOT_FOUND)
    os.execv(program, [program, *sys.argv[1:]])  # noqa: S606 - the arguments are the user's own


def program_beside(script: Path) -> str | None:
    """Find ``dragoman`` of the same installation, else the one on the path."""
    beside = script.resolve().parent / "dragoman"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("dragoman")


if __name__ == "__main__":
    main()
