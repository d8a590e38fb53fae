"""A node full of prepared claims: what the engine and a start of the agent take to recover them."""

from __future__ import annotations

import time
from pathlib import Path

from dragoman import assembly
from dragoman.clock import SystemClock
from dragoman.engine.recovery import Recovering
from dragoman.hooks import Hooks
from dragoman.settings import Settings, load
from dragoman.store.ledger import Ledger
from tests.bench import process
from tests.bench.figures import Figure, middle
from tests.bench.node import BenchNode, NotMeasured

ROWS = 500
_BATCH = 50
_TIMES = 3


async def recoveries(bench: BenchNode) -> list[Figure]:
    """Prepare many claims, and recover them: their links are on the host, and their files as they should be."""
    await bench.stop()
    bench.configure(ROWS)
    await bench.start()
    began = time.perf_counter()
    for first in range(0, ROWS, _BATCH):
        await bench.prepare([bench.claim([number]) for number in range(first, min(first + _BATCH, ROWS))])
    filled = time.perf_counter() - began
    await bench.settled()
    full = process.memory(bench.pid)
    await bench.stop()
    engine = [await _recover(bench) for _ in range(_TIMES)]
    starts = []
    for _ in range(_TIMES):
        starts.append(await bench.start())
        await bench.stop()
    return [
        Figure(
            key="recovery.engine",
            name=f"recovery of {ROWS} rows by the engine",
            value=middle(engine),
            unit="s",
            note=f"least {min(engine):.2f} s; median of {_TIMES}",
        ),
        Figure(
            key="recovery.wall",
            name=f"start with {ROWS} rows: wall",
            value=middle([start.wall for start in starts]),
            unit="s",
            note="up to 1 s of it until the kubelet looks",
        ),
        Figure(
            key="recovery.cpu",
            name=f"start with {ROWS} rows: CPU",
            value=middle([start.cpu for start in starts]),
            unit="s",
        ),
        Figure(
            key="full.rss",
            name=f"memory with {ROWS} claims: resident",
            value=full.rss,
            unit="MB",
            note=f"prepared in {filled:.1f} s, {_BATCH} in a call",
        ),
    ]


async def _recover(bench: BenchNode) -> float:
    """Recover in this process, on the ledger of the agent that has stopped; give the seconds."""
    settings = _settings(bench.node.settings_file)
    hooks = Hooks(assembly.plugin_set(settings, bench.node.name), assembly.limits(settings))
    outside = assembly.Outside.build(settings, bench.node.name, SystemClock())
    ledger = Ledger.open(settings.paths.state_dir, assembly.boot_id(settings))
    await hooks.start()
    try:
        if len(ledger.allocations()) != ROWS:
            raise NotMeasured(f"the ledger has {len(ledger.allocations())} rows instead of {ROWS}")
        recovering = Recovering(
            outside.parts(ledger, hooks, bench.node.name, lambda: None, lambda _: None, lambda _: None)
        )
        began = time.perf_counter()
        await recovering.recover()
        return time.perf_counter() - began
    finally:
        await hooks.stop()
        await outside.kube.close()
        outside.links.close()
        ledger.close()


def _settings(file: Path) -> Settings:
    return load(file, environ={}, required=True).settings
