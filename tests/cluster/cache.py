"""What takes long to get is kept outside the checkout, in one folder for each recipe."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def home() -> Path:
    """Give the folder for everything kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragoman"


def digest(*parts: str | bytes) -> str:
    """Name a recipe by what it is made of."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.encode() if isinstance(part, str) else part)
        total.update(b"\0")
    return total.hexdigest()[:12]


def kept(name: str, make: Callable[[Path, Path], None]) -> Path:
    """Give a folder of that name; where there is none, ``make(folder, final)`` fills one that moves to ``final``.

    Two processes that want the same wait for each other, and one that dies leaves nothing half made.
    """
    final = home() / name
    final.parent.mkdir(parents=True, exist_ok=True)
    with final.with_name(f"{final.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not final.exists():
            folder = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
            try:
                make(folder, final)
                folder.chmod(0o755)
                folder.rename(final)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return final
