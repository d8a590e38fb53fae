"""The files of the ledger: private, durable in their folder, and set aside as a whole."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

_COMPANIONS = ("", "-wal", "-shm")
"""What SQLite keeps beside the main file. The log comes into effect with the main file of the same name only."""


def make_folder(folder: Path) -> None:
    """Make the folder with mode 0700, or give that mode to the one that is there (a hostPath is made with 0755)."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_folder(folder.parent)
    folder.chmod(0o700)


def make_private(path: Path) -> None:
    """Make an empty file with mode 0600, or give that mode to the one that is there.

    SQLite gives its companions the mode of the main file. A file that is there is not opened: to close it again would
    drop the locks that SQLite may have on it in this process.
    """
    path.touch(mode=0o600)
    path.chmod(0o600)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a database with its companions; absent is success."""
    for name in _all_of(path):
        name.unlink(missing_ok=True)


def set_aside(path: Path) -> Path:
    """Rename a database with its companions to ``<name>.corrupt-<n>`` and give the new name of the main file.

    The main file goes first: a main file without its log would read as an older state. A log that is left without its
    main file by a death in between is set aside under the next number, so that no new file ever comes upon it.
    """
    numbered = (path.with_name(f"{path.name}.corrupt-{n}") for n in itertools.count(1))
    target = next(name for name in numbered if not any(part.exists() for part in _all_of(name)))
    for source, name in zip(_all_of(path), _all_of(target), strict=True):
        if source.exists():
            source.rename(name)
    sync_folder(path.parent)
    return target


def has_stray_log(path: Path) -> bool:
    """Tell whether there is a log without the file that it belongs to."""
    return not path.exists() and any(name.exists() for name in _all_of(path))


def was_set_aside(path: Path) -> bool:
    """Tell whether a database of this name was set aside before."""
    return any(path.parent.glob(f"{path.name}.corrupt-*"))


def _all_of(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in _COMPANIONS]
