"""Many worlds, asked of both programs side by side."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.differential import compare, known, programs, shares
from tests.differential.compare import Difference
from tests.differential.programs import Program

Json = dict[str, Any]

# Upstream walks maps in random order; one that came out once in a hundred does not matter to anybody.
_TRIES = 30


@dataclass(frozen=True)
class Finding:
    """A world with different answers that nothing explains."""

    question: Json
    theirs: Json
    ours: Json
    differences: list[Difference]


@dataclass
class Outcome:
    """What came of the worlds of one kind."""

    kind: str
    worlds: int = 0
    findings: list[Finding] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)
    shares: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: {"upstream": 0.0, "ours": 0.0})
    slowest: float = 0.0
    """Seconds of the library for one world."""
    slowest_world: str = ""


class Trial:
    """Both programs, for as long as there are worlds."""

    def __init__(self) -> None:
        self._theirs = Program(programs.theirs())
        self._ours = Program(programs.ours())
        self._pool = ThreadPoolExecutor(2)

    def close(self) -> None:
        """End both."""
        self._theirs.close()
        self._ours.close()
        self._pool.shutdown()

    def ask(self, question: Json) -> tuple[Json, Json]:
        """Give both answers."""
        (theirs, _), (ours, _) = self._both(question)
        return theirs, ours

    def run(self, kind: str, questions: Iterable[Json]) -> Outcome:
        """Compare the answers to each."""
        outcome = Outcome(kind)
        for question in questions:
            (theirs, one), (ours, other) = self._both(question)
            outcome.worlds += 1
            outcome.seconds["upstream"] += one
            outcome.seconds["ours"] += other
            if other > outcome.slowest:
                outcome.slowest, outcome.slowest_world = other, question["id"]
            outcome.shares.update(shares.of(question, theirs))
            if found := compare.differences(kind, theirs, ours):
                self._judge(outcome, Finding(question, theirs, ours, found))
        return outcome

    def _judge(self, outcome: Outcome, finding: Finding) -> None:
        reason = known.explained(finding.question, finding.theirs, finding.differences)
        if reason:
            outcome.explained[f"{reason.source}: {reason.about}"] += 1
        elif self._varies(outcome.kind, finding):
            outcome.explained["upstream's own answer varies with the order of a map, and ours is one of them"] += 1
        else:
            outcome.findings.append(finding)

    def _varies(self, kind: str, finding: Finding) -> bool:
        """Tell whether upstream, asked again, says what the library says."""
        if {compare.verdict(finding.theirs), compare.verdict(finding.ours)} & {"timeout", "crash", "input"}:
            return False
        first = self._theirs.ask(finding.question)
        for _ in range(_TRIES):
            if not compare.differences(kind, first, finding.ours):
                return True
            first = self._theirs.ask(finding.question)
        return False

    def _both(self, question: Json) -> tuple[tuple[Json, float], tuple[Json, float]]:
        theirs = self._pool.submit(_timed, self._theirs, question)
        ours = self._pool.submit(_timed, self._ours, question)
        return theirs.result(), ours.result()


def _timed(program: Program, question: Json) -> tuple[Json, float]:
    began = time.monotonic()
    answer = program.ask(question)
    return answer, time.monotonic() - began
