"""The Go that builds programs for the tests: this machine's, or where it has none, or an old one, that of Debian."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tests.cluster import cache, debian
from tests.cluster.tools import run

_OLDEST = (1, 21)
"""From here on Go fetches the version that a module asks for through its proxy."""
_PACKAGES = ("golang-1.26-go", "golang-1.26-src")


def go() -> str:
    """Give the ``go`` command, fetched if need be."""
    if (found := shutil.which("go")) and _version(found) >= _OLDEST:
        return found
    recipe = cache.digest(Path(__file__).read_bytes(), Path(debian.__file__).read_bytes())
    kept = cache.kept(f"go-{debian.SUITE}-{recipe}", lambda folder, _: debian.unpack(folder, *_PACKAGES))
    return str(kept / "usr" / "lib" / "go-1.26" / "bin" / "go")


def environment() -> dict[str, str]:
    """Give the variables under which it builds: what it makes is the same wherever it is made."""
    # Debian's would otherwise take no other version than itself.
    return {"GOTOOLCHAIN": "auto"} | os.environ | {"GOFLAGS": "-trimpath", "CGO_ENABLED": "0", "GOWORK": "off"}


def _version(command: str) -> tuple[int, int]:
    found = re.search(r"go(\d+)\.(\d+)", run([command, "version"]))
    return (int(found[1]), int(found[2])) if found else (0, 0)
