"""Packages that are spared: parts without the whole, and the whole for who wants it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dragoman_kit import packages

NAME = "large_package_of_a_test"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import heavy\nWHOLE = heavy.WEIGHT\n")
    (folder / "heavy.py").write_text("WEIGHT = 7\n")
    (folder / "part.py").write_text("VALUE = 1\n")
    (folder / "broken.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def spared() -> ModuleType:
    packages.spare(NAME)
    return importlib.import_module(NAME)


def test_a_part_is_imported_without_the_others(folder: Path) -> None:
    packages.spare(NAME)
    assert importlib.import_module(f"{NAME}.part").VALUE == 1
    assert f"{NAME}.heavy" not in sys.modules


def test_what_only_the_whole_has_is_found_all_the_same(folder: Path) -> None:
    assert spared().WHOLE == 7


def test_a_part_is_found_as_an_attribute_without_the_others(folder: Path) -> None:
    assert spared().part.VALUE == 1
    assert f"{NAME}.heavy" not in sys.modules


def test_a_name_that_nobody_has_is_an_attribute_error(folder: Path) -> None:
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = spared().nothing_of_that_name


def test_a_part_that_cannot_be_imported_says_why(folder: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        _ = spared().broken


def test_a_package_that_is_imported_already_stays_as_it_is(folder: Path) -> None:
    whole = importlib.import_module(NAME)
    assert spared() is whole


def test_a_package_that_is_not_installed_is_still_not_found() -> None:
    packages.spare("not_installed_anywhere")
    assert "not_installed_anywhere" not in sys.modules


def test_the_kit_leaves_most_of_pyroute2_out_and_a_plugin_still_gets_it() -> None:
    program = (
        "import sys, dragoman_kit.links\n"
        "assert 'pyroute2.netlink.rtnl.ifinfmsg' in sys.modules\n"
        "assert 'pyroute2.ndb' not in sys.modules\n"
        "from pyroute2 import IPRoute\n"
        "IPRoute().close()\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
