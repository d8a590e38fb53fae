"""The program that answers with Kubernetes' own code, built from published Go modules.

With a cold build cache that takes some ten minutes, most of which a build for ``tests.cluster`` has in common.
"""

from __future__ import annotations

from pathlib import Path

from tests.cluster import cache, toolchain
from tests.cluster.tools import again, run

_SOURCE = Path(__file__).parent / "upstream"


def upstream() -> Path:
    """Give the program, built if need be. Raises ``Failed`` where it cannot be."""
    files = sorted(path for path in _SOURCE.iterdir() if path.suffix in {".go", ".mod", ".sum"})
    parts = [part for path in files for part in (path.name, path.read_bytes())]
    return cache.kept(f"upstream-{cache.digest(*parts)}", lambda folder, _: _build(folder)) / "upstream"


def _build(folder: Path) -> None:
    go, env = toolchain.go(), toolchain.environment()
    again(lambda: run([go, "list", "-deps", "."], cwd=_SOURCE, env=env))  # loads what the build needs, and no more
    # As tests.cluster builds, or the two would share nothing of Go's cache.
    run([go, "build", "-ldflags", "-s -w", "-o", folder / "upstream", "."], cwd=_SOURCE, env=env)
