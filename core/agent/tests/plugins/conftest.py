"""Throw-away distributions on ``sys.path``: what pip would have left, with metadata, entry points and a module."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from dragoman.plugins import contexts
from dragoman_hookspecs import Context

PREAMBLE = """
from dataclasses import dataclass
from dragoman_hookspecs import *

class Manager:
    def __init__(self, context=None, settings=None):
        self.context, self.settings = context, settings
    @hookimpl
    def discover_devices(self):
        return Inventory(devices=())
    @hookimpl
    def setup_device(self, request):
        return Prepared()
    @hookimpl
    def free_device(self, request):
        return None
    @hookimpl
    def recover_devices(self, request):
        return []

"""


class Site:
    """A folder like ``site-packages``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def install(
        self,
        distribution: str,
        source: str,
        *,
        entry_points: Mapping[str, str] | None = None,
        requires: Sequence[str] = ("dragoman-hookspecs>=0.1,<0.2",),
        version: str = "1.0",
    ) -> str:
        """Add a distribution with one module; its entry point is the name after ``dragoman-`` unless told otherwise."""
        module = distribution.replace("-", "_")
        points = entry_points or {distribution.removeprefix("dragoman-"): f"{module}:plugin"}
        (self.folder / f"{module}.py").write_text(PREAMBLE + textwrap.dedent(source))
        info = self.folder / f"{module}-{version}.dist-info"
        info.mkdir()
        requirements = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n{requirements}"
        )
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[dragoman.plugins]\n{lines}")
        self.modules.append(module)
        importlib.invalidate_caches()
        return module

    def entry_points(self) -> list[EntryPoint]:
        """List the entry points of the distributions in this folder, and of no others."""
        found = importlib.metadata.distributions(path=[str(self.folder)])
        return [entry for distribution in found for entry in distribution.entry_points]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    made = Site(folder)
    sys.path.insert(0, str(folder))
    yield made
    sys.path.remove(str(folder))
    for module in made.modules:
        sys.modules.pop(module, None)


@pytest.fixture
def context(tmp_path: Path) -> Callable[[str], Context]:
    base = Context(
        node_name="node-1", driver_name="net.dragoman.dev", state_dir=tmp_path / "state", cdi_dir=tmp_path / "cdi"
    )
    return contexts(base)
