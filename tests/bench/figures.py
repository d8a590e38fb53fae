"""Figures with their goals, and the table of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from dragoman_hookspecs import JsonObject

_PLACES = {"s": 2, "MB": 1, "ms": 1, "x": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure. ``goal``: at most so much, None where there is none yet. ``note``: how it came about."""

    key: str
    name: str
    value: float
    unit: str = ""
    goal: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Give ``met``, ``missed``, or "" without a goal. What is shown is what is judged."""
        if self.goal is None:
            return ""
        return "met" if round(self.value, self._places) <= self.goal else "missed"

    def text(self, value: float) -> str:
        """Give a value with the unit."""
        return f"{value:.{self._places}f} {self.unit}".rstrip()

    def json(self) -> JsonObject:
        """Give it as a JSON object."""
        verdict = {"goal": self.goal, "verdict": self.verdict} if self.goal is not None else {}
        return {"name": self.name, "value": self.value, "unit": self.unit, **verdict, "note": self.note}

    @property
    def _places(self) -> int:
        return _PLACES.get(self.unit, 0)


def middle(values: Sequence[float]) -> float:
    """Give the median."""
    return statistics.median(values)


def percentile(values: Sequence[float], percent: float) -> float:
    """Give the smallest value that so many percent of all do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def write_table(out: TextIO, figures: Iterable[Figure]) -> None:
    """Write the figures in aligned columns; the notes last, since they are long."""
    rows = [("figure", "value", "goal", "", "")]
    for figure in figures:
        goal = "" if figure.goal is None else f"<= {figure.text(figure.goal)}"
        rows.append((figure.name, figure.text(figure.value), goal, figure.verdict, figure.note))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for name, value, goal, verdict, note in rows:
        cells = (name.ljust(widths[0]), value.rjust(widths[1]), goal.rjust(widths[2]), verdict.ljust(widths[3]), note)
        out.write("  ".join(cells).rstrip() + "\n")
