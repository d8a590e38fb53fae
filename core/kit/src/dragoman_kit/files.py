"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_atomic(path: Path, content: bytes, *, mode: int = 0o644, durable: bool = True) -> bool:
    """Replace ``path`` with ``content`` so that no reader and no crash ever sees a part of it.

    What is not ``durable`` is safe from the end of this process, but not of the power: for files that are made anew
    when the system starts.

    A file that has that content already is left alone (its inode may be mounted into containers). Gives True where
    something was written. The temporary name begins with a dot and ends with ``.tmp``, which CDI caches do not read.
    Raises ``OSError``.
    """
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == content:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            os.fchmod(stream.fileno(), mode)
            if durable:
                os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    if durable:
        sync_folder(path.parent)
    return True


def remove(path: Path, *, durable: bool = True) -> bool:
    """Remove a file; give False where there was none. Raises ``OSError``."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    if durable:
        sync_folder(path.parent)
    return True


def sync_folder(folder: Path) -> None:
    """Make the folder's entries durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
