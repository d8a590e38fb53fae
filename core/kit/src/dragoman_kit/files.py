"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_atomic(path: Path, content: bytes, *, mode: int = 0o644, durable: bool = True) -> bool:
    """Replace ``path`` with ``content`` so that no reader and no crash ever sees a part of it.

    What is not ``durable`` is safe from the end of this process, but not of the power: for files that are made anew
    when the system starts.

    A file that has that content already is left alone (its inode may be mounted into containers). Gives True where
    something was written. One writer for each path at a time: the temporary file beside it, ``.<name>.tmp``, which CDI
    caches do not read, has always the same name, so that the next ``write_atomic`` or ``remove`` takes away what a
    crash left. Raises ``OSError``.
    """
    temporary = _temporary(path)
    temporary.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == content:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            if durable:
                os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)
    return True


def remove(path: Path, *, durable: bool = True) -> bool:
    """Remove a file, and what a crash left of writing it; give False where there was none. Raises ``OSError``."""
    _temporary(path).unlink(missing_ok=True)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    if durable:
        sync_folder(path.parent)
    return True


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def sync_folder(folder: Path) -> None:
    """Make the folder's entries durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
