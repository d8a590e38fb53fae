"""How the demo tells: steps, what the kernel says, and checks. Plain text; with colours on a terminal."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable
from typing import TextIO

from dragoman_hookspecs import DragomanError

_WIDTH = 112
_COLOURS = {"bold": "1", "dim": "2", "green": "32", "red": "31", "cyan": "36"}


class Differs(DragomanError):
    """A step did not show what it should."""

    def __init__(self, what: str, expected: object, actual: object) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(what)


class Story:
    """Tells on a stream. ``checks`` counts what was found as it should be."""

    def __init__(self, out: TextIO) -> None:
        self.checks = 0
        self._out = out
        self._coloured = out.isatty() and "NO_COLOR" not in os.environ
        plain = "utf" not in (out.encoding or "").lower()
        self._ok, self._bad, self._bar, self._arrow = ("ok", "NO", "|", "->") if plain else ("✓", "✗", "│", "→")
        self._steps = 0

    def title(self, text: str, line: str) -> None:
        """Begin."""
        self._line(f"\n  {self._paint('bold', text)}   {self._paint('dim', line)}")

    def step(self, text: str) -> None:
        """Begin the next step."""
        self._steps += 1
        self._line(f"\n  {self._paint('cyan', str(self._steps))}  {self._paint('bold', text)}")

    def say(self, text: str) -> None:
        """Say what is about to be seen."""
        for line in textwrap.wrap(" ".join(text.split()), _WIDTH - 5):
            self._line(f"     {self._paint('dim', line)}")

    def show(self, head: str, lines: Iterable[str]) -> None:
        """Show what somebody else says: the kernel, a command, the API server."""
        self._line(f"     {head}")
        for line in lines:
            for part in textwrap.wrap(line, _WIDTH, subsequent_indent="  ") or [""]:
                self._line(f"     {self._paint('dim', self._bar)} {part.rstrip()}")

    def check(self, what: str, actual: object, expected: object) -> None:
        """Compare, and say so. Raises ``Differs``."""
        if actual != expected:
            raise Differs(what, expected, actual)
        self.checks += 1
        self._line(f"     {self._paint('green', self._ok)} {what}")

    def end(self, seconds: float) -> None:
        """Tell that all is well."""
        self._line(f"\n  {self._paint('green', self._ok)}  {self.checks} checks held, in {seconds:.0f} s.\n")

    def failure(self, error: Exception, pods: Iterable[str], log: Iterable[str]) -> None:
        """Tell what went wrong, with what is known of the pods and the end of the agent's log."""
        self._line(f"\n  {self._paint('red', self._bad)}  {error}")
        if isinstance(error, Differs):
            self._line(f"     expected  {error.expected!r}")
            self._line(f"     actual    {error.actual!r}")
        for head, lines in (("The pods", pods), ("The end of the agent's log", log)):
            self._line(f"\n     {head}:")
            for line in lines:
                self._line(f"     {self._bar} {line}")
        self._line("")

    def _paint(self, colour: str, text: str) -> str:
        return f"\033[{_COLOURS[colour]}m{text}\033[0m" if self._coloured else text

    def _line(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()
