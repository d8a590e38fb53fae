"""A node's own cgroup, below the one of who starts it: made before, removed after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.cluster.waiting import until


def make(name: str) -> list[Path]:
    """Make it in every hierarchy, and give the folders."""
    folders = [parent / name for parent in _own()]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            # cgroup v1 starts with none, and then takes no process.
            if (folder / setting).exists() and not (folder / setting).read_text().strip():
                (folder / setting).write_text((folder.parent / setting).read_text())
    return folders


def remove(folders: list[Path]) -> None:
    """Remove what is left of it; its last processes may still be on their way out."""
    for folder in folders:
        until(lambda folder=folder: _removed(folder), f"{folder} is removed")  # type: ignore[misc]  # mypy cannot infer it


def _removed(folder: Path) -> bool:
    try:
        for inner in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
            inner.rmdir()
        if folder.exists():
            folder.rmdir()
    except FileNotFoundError:
        pass  # the kernel was quicker
    except OSError:
        return False
    return not folder.exists()


def _own() -> Iterator[Path]:
    """Give this process's folder in each hierarchy that is mounted."""
    mine = dict(_memberships())
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2":
            yield Path(place + mine[""])
        elif kind == "cgroup":
            found = {path for name, path in mine.items() if name and name in options.split(",")}
            yield from (Path(place + path) for path in found)


def _memberships() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            yield name, path.rstrip("/")
