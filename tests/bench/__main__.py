"""Measure the agent on a sandbox node, in namespaces of its own, and compare with the goals.

Exit code 0 if everything could be measured, whatever the verdicts; 1 if something could not; 2 where nothing can be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path

from dragoman import logs
from dragoman.kubelet.environment import prepare_environment
from dragoman_hookspecs import DragomanError
from dragoman_testkit.sandbox import private
from tests.bench.figures import Figure, write_table

Part = Callable[..., Awaitable[list[Figure]]]

PARTS = ("start", "idle", "prepare", "attach", "requests", "recovery")


def main() -> int:
    """Run the benchmark; give the exit code."""
    options = _options()
    try:
        private.enter()
    except DragomanError as error:
        sys.stderr.write(f"The benchmark cannot run: {error}\n")
        return 2
    prepare_environment()
    logs.configure("error")
    began = time.monotonic()
    figures, failures = asyncio.run(_measure(options.parts or PARTS))
    write_table(sys.stdout, figures)
    missed = [figure.name for figure in figures if figure.verdict == "missed"]
    sys.stdout.write(f"\n{len(missed)} goals missed; measured in {time.monotonic() - began:.0f} s.\n")
    for failure in failures:
        sys.stdout.write(f"NOT MEASURED {failure}\n")
    if options.json:
        options.json.write_text(json.dumps({figure.key: figure.json() for figure in figures}, indent=2) + "\n")
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--part", dest="parts", action="append", choices=PARTS, help="only this one; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as JSON, too")
    return parser.parse_args()


async def _measure(names: Collection[str]) -> tuple[Sequence[Figure], Sequence[str]]:
    # gRPC reads the environment when it is imported.
    from dragoman_testkit.sandbox.node import SandboxNode, make_folder, remove_folder  # noqa: PLC0415
    from tests.bench import asking, attaching, preparing, recovering, starting  # noqa: PLC0415
    from tests.bench.node import DEVICES, BenchNode, furnish, settings  # noqa: PLC0415

    parts: Mapping[str, Part] = {
        "start": starting.starts,
        "idle": starting.idle,
        "prepare": preparing.prepares,
        "attach": attaching.attaches,
        "requests": asking.requests,
        "recovery": recovering.recoveries,
    }
    figures: list[Figure] = []
    failures: list[str] = []
    kind, folder = furnish(), make_folder()
    try:
        async with SandboxNode(folder, settings=settings(kind, DEVICES)) as node:
            bench = BenchNode(node, kind)
            await bench.start()
            for name in filter(names.__contains__, parts):
                try:
                    figures += await parts[name](bench)
                except (DragomanError, OSError, TimeoutError) as error:
                    failures += [f"{name}: {error!r}", *node.agent.log_tail(5)]
            await bench.close()
    finally:
        remove_folder(folder)
    return figures, failures


if __name__ == "__main__":
    sys.exit(main())
