"""Prepare over the DRA socket."""

from __future__ import annotations

from tests.bench.figures import Figure, middle, percentile
from tests.bench.node import BenchNode

BATCH = 16
_SINGLES = 100
_BATCHES = 12


async def prepares(bench: BenchNode) -> list[Figure]:
    """Prepare claims of one device, alone and in batches; each is unprepared before the next."""
    await _rounds(bench, 1, 5)
    singles = await _rounds(bench, 1, _SINGLES)
    batches = await _rounds(bench, BATCH, _BATCHES)
    return [*_figures(1, singles), *_figures(BATCH, batches)]


async def _rounds(bench: BenchNode, size: int, count: int) -> list[float]:
    taken = []
    for _ in range(count):
        claims = [bench.claim([number]) for number in range(size)]
        taken.append(await bench.prepare(claims))
        await bench.unprepare(claims)
        bench.forget(claims)
    return taken


def _figures(size: int, seconds: list[float]) -> list[Figure]:
    what = f"prepare of {size} claim{'s' if size > 1 else ''}"
    note = f"{len(seconds)} calls" + (f"; {middle(seconds) * 1000 / size:.1f} ms a claim" if size > 1 else "")
    return [
        Figure(key=f"prepare.{size}.p50", name=f"{what}: p50", value=middle(seconds) * 1000, unit="ms", note=note),
        Figure(key=f"prepare.{size}.p99", name=f"{what}: p99", value=percentile(seconds, 99) * 1000, unit="ms"),
    ]
