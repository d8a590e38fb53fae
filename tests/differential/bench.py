"""The library's time and memory, as parts of what Kubernetes' own code takes in the same run."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.differential import compare, programs
from tests.differential.programs import Json
from tests.differential.worlds import benches


@dataclass(frozen=True)
class Bench:
    """``whole``: from the start of the program, with reading; otherwise the program's own ``elapsedMs``."""

    name: str
    world: Callable[[], Iterator[str]]
    whole: bool
    time: float
    """At most this part of upstream's time."""
    memory: float | None = None


@dataclass(frozen=True)
class Taken:
    """Seconds and MiB of one program."""

    answer: Json
    seconds: float
    memory: float


BENCHES = (
    Bench("status of 5,000 pools from JSON to answer", benches.pool_status, whole=True, time=1.0, memory=0.7),
    Bench("1,000 claims over 100 nodes", benches.allocate, whole=False, time=3.0),
    Bench("searches that turn back all the time", benches.hard, whole=False, time=10.0),
)


def run(rounds: int) -> int:
    """Measure all, write a table; give 1 where the programs disagree or one gave no answer."""
    wrong = 0
    row = "{:44} {:>10} {:>10} {:>7} {:>8} {:>10} {:>10} {:>7}\n"
    sys.stdout.write(row.format("", "upstream s", "ours s", "ratio", "goal", "MiB", "ours MiB", "ratio"))
    with tempfile.TemporaryDirectory() as folder:
        for bench in BENCHES:
            world = benches.write(bench.world(), Path(folder) / "world.json")
            theirs, ours = _measured(bench, world, rounds)
            if found := compare.differences("bench", theirs.answer, ours.answer):
                wrong += 1
                sys.stdout.write(f"{bench.name}: {'; '.join(map(str, found))}\n")
                continue
            ratio, memory = ours.seconds / theirs.seconds, ours.memory / theirs.memory
            goal = f"≤ {bench.time:g} {'' if ratio <= bench.time else '!'}"
            cells = [f"{theirs.seconds:.2f}", f"{ours.seconds:.2f}", f"{ratio:.2f}", goal]
            cells += [f"{theirs.memory:.0f}", f"{ours.memory:.0f}", f"{memory:.2f}"]
            sys.stdout.write(row.format(bench.name, *cells))
            sys.stdout.flush()
    return int(bool(wrong))


def _measured(bench: Bench, world: Path, rounds: int) -> tuple[Taken, Taken]:
    """Take turns, so that whatever else the machine does bears on both; give the medians."""
    both: tuple[list[Taken], list[Taken]] = ([], [])
    for _ in range(rounds):
        for command, taken in zip((programs.theirs(), programs.ours()), both, strict=True):
            answer, seconds, memory = programs.run_once(command, world)
            spent = seconds if bench.whole else float(answer.get("elapsedMs") or 0) / 1000
            taken.append(Taken(answer, spent, memory))
    theirs, ours = (_median(taken) for taken in both)
    return theirs, ours


def _median(taken: list[Taken]) -> Taken:
    seconds = statistics.median(one.seconds for one in taken)
    return Taken(taken[0].answer, max(seconds, 1e-6), statistics.median(one.memory for one in taken))
