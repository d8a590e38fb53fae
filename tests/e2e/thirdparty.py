"""Distributions of somebody else: installed in a folder that is on the path of the agent and of nobody else."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dragoman_hookspecs import JsonObject

API = "dragoman-hookspecs>=0.1,<0.2"
_ROOT = Path(__file__).parents[2]


def install(folder: Path, name: str, source: str, requires: str = API) -> None:
    """Install distribution ``dragoman-<name>`` with the module ``dragoman_<name>`` and the entry point ``<name>``."""
    folder.mkdir(exist_ok=True)
    (folder / f"dragoman_{name}.py").write_text(source)
    info = folder / f"dragoman_{name}-1.2.3.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: dragoman-{name}\nVersion: 1.2.3\nRequires-Dist: {requires}\n"
    (info / "METADATA").write_text(metadata)
    (info / "entry_points.txt").write_text(f"[dragoman.plugins]\n{name} = dragoman_{name}:plugin\n")


def path(folder: Path) -> dict[str, str]:
    """Give the variable that makes a process see what is installed in the folder."""
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(_ROOT)])}


class Script:
    """The part that a scripted manager plays. ``folder`` is where its distribution is installed."""

    def __init__(self, folder: Path, type_: str, link_kind: str) -> None:
        self.type = type_
        self._folder = folder / type_
        self._link_kind = link_kind
        self._part: JsonObject = {}
        install(folder, type_, f"from tests.e2e.scripted import manager\n\nplugin = manager({type_!r})\n")
        self._folder.mkdir()
        self.play()

    def section(self, count: int = 2) -> JsonObject:
        """Give its section of the settings."""
        return {"folder": str(self._folder), "count": count, "linkKind": self._link_kind}

    def play(self, **part: object) -> None:
        """Play this part from now; what is not named works."""
        self._part = dict(part)
        new = self._folder / "script.new"
        new.write_text(json.dumps(self._part))
        new.replace(self._folder / "script.json")

    def calls(self, hook: str) -> int:
        """Count the calls of a hook that have begun."""
        notes = self._folder / "calls.log"
        return notes.read_text().split().count(hook) if notes.exists() else 0
