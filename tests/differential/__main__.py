"""``python -m tests.differential``: ask Kubernetes' own code and the library the same, and show where they differ."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

from tests.cluster.tools import Failed
from tests.differential import bench, build, compare, worlds
from tests.differential.trial import Finding, Outcome, Trial

_SHOWN = 12


def main() -> None:
    """Do what the words say; exit code 1 for a difference that nothing explains."""
    given = _parser().parse_args()
    try:
        match given.word:
            case "build":
                sys.stdout.write(f"{build.upstream()}\n")
            case "bench":
                sys.exit(bench.run(given.rounds))
            case "run" if given.show:
                sys.exit(_show(given.show))
            case "run":
                sys.exit(_run(given))
    except (Failed, ValueError) as error:
        sys.exit(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    words = parser.add_subparsers(dest="word", required=True)
    words.add_parser("build", help="build the program with Kubernetes' own code")
    measure = words.add_parser("bench", help="compare time and memory")
    measure.add_argument("--rounds", type=int, default=3, metavar="N", help="medians of so many runs (3)")
    run = words.add_parser("run", help="compare answers")
    run.add_argument("--kind", action="append", choices=worlds.KINDS, help="only this one; may be repeated")
    run.add_argument("--world", action="append", choices=worlds.SIZES, help="only worlds of this size; may be repeated")
    run.add_argument("--count", type=int, default=500, metavar="N", help="worlds of each kind (500)")
    run.add_argument("--seed", type=int, default=1, metavar="S", help="decides all worlds (1)")
    run.add_argument("--show", metavar="ID", help="one world only: the question and both answers as JSON")
    return parser


def _run(given: argparse.Namespace) -> int:
    trial = Trial()
    failed = False
    try:
        for kind in given.kind or worlds.KINDS:
            outcome = _compare(trial, kind, given.world or worlds.SIZES, given.count, given.seed)
            failed = failed or bool(outcome.findings)
    finally:
        trial.close()
    return int(failed)


def _compare(trial: Trial, kind: str, sizes: Sequence[str], count: int, seed: int) -> Outcome:
    began = time.monotonic()
    outcome = trial.run(kind, (worlds.make(kind, sizes[i % len(sizes)], seed, i) for i in range(count)))
    sys.stdout.write(f"{kind}: {count} worlds, {len(outcome.findings)} different, {time.monotonic() - began:.0f} s")
    sys.stdout.write(f" (upstream {outcome.seconds['upstream']:.1f} s, ours {outcome.seconds['ours']:.1f} s")
    sys.stdout.write(f", slowest {outcome.slowest:.2f} s: {outcome.slowest_world})\n")
    shown = ", ".join(f"{name} {number * 100 / count:.1f} %" for name, number in sorted(outcome.shares.items()))
    sys.stdout.write(f"  worlds: {shown}\n")
    for reason, number in outcome.explained.most_common():
        sys.stdout.write(f"  explained: {number} × {reason}\n")
    for finding in outcome.findings[:_SHOWN]:
        _tell(finding)
    sys.stdout.flush()
    return outcome


def _tell(finding: Finding) -> None:
    name = finding.question["id"]
    sys.stdout.write(f"  {name}: python -m tests.differential run --show {name}\n")
    for difference in finding.differences[:_SHOWN]:
        sys.stdout.write(f"    {difference}\n")


def _show(name: str) -> int:
    question = worlds.again(name)
    trial = Trial()
    try:
        theirs, ours = trial.ask(question)
    finally:
        trial.close()
    for title, value in (("question", question), ("upstream", theirs), ("ours", ours)):
        sys.stdout.write(f"{title}: {json.dumps(value, ensure_ascii=False)}\n")
    found = compare.differences(question["kind"], theirs, ours)
    for difference in found:
        sys.stdout.write(f"{difference}\n")
    return int(bool(found))


if __name__ == "__main__":
    main()
