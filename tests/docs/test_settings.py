"""The page of settings has every key with its default."""

from __future__ import annotations

import re
from pathlib import Path

from dragoman.model.pools import PoolFilter
from dragoman.schema import keys
from dragoman.schema.types import dotted
from dragoman.settings.layers import walk
from dragoman.settings.loading import check

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "settings.md").read_text("utf-8")


def rows(head: str) -> list[list[str]]:
    """Give the rows of the table whose first line begins so."""
    table = PAGE[PAGE.index(f"| {head} |") :].partition("\n\n")[0]
    return [[cell.strip(" `") for cell in re.split(r"\s\|", line[1:])] for line in table.splitlines()[2:]]


def test_every_setting_is_on_the_page_with_its_default() -> None:
    values = dict(walk(check([]).effective()))
    leaves = {dotted(path): value for path, value in values.items() if not isinstance(value, dict) or not value}
    wanted = {path: str(value or "") for path, value in leaves.items() if not path.startswith("limits.")}
    wanted |= {path: "{}" for path, value in leaves.items() if value == {}}
    assert {key: default for key, default, *_ in rows("key")} == wanted


def test_every_field_of_a_filter_is_on_the_page() -> None:

    assert sorted(field for field, *_ in rows("field")) == sorted(keys(PoolFilter))
