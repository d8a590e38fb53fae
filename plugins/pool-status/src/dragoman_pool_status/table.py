"""Rows in aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lay out rows under a head line; a column that is empty everywhere is left out, a missing value is ``-``."""
    lines = [[name.upper() for name in columns], *([_cell(value) for value in row] for row in rows)]
    filled = [column for column in zip(*lines, strict=True) if len(lines) == 1 or set(column[1:]) != {"-"}]
    widths = [max(map(len, column)) for column in filled]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in zip(*filled, strict=True))


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "-"
    return printable(str(value))


def printable(text: str) -> str:
    """Escape what does not show: what somebody named in the cluster must not drive the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
