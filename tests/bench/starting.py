"""Start to registered, and what the agent takes while it has nothing to do."""

from __future__ import annotations

from tests.bench import process
from tests.bench.figures import Figure, middle
from tests.bench.node import BenchNode

_STARTS = 5
GOAL_CPU = 1.5
GOAL_MEMORY = 90.0


async def starts(bench: BenchNode) -> list[Figure]:
    """Start the agent again and again. Its first start, which compiles what is new, does not count."""
    measured = []
    for _ in range(_STARTS):
        await bench.stop()
        measured.append(await bench.start())
    cpu, wall = [start.cpu for start in measured], [start.wall for start in measured]
    return [
        Figure(
            key="start.cpu",
            name="start to registered: CPU, user and system",
            value=middle(cpu),
            unit="s",
            goal=GOAL_CPU,
            note=f"least {min(cpu):.2f} s; median of {_STARTS}",
        ),
        Figure(
            key="start.wall",
            name="start to registered: wall",
            value=middle(wall),
            unit="s",
            note=f"least {min(wall):.2f} s; up to 1 s of it until the kubelet looks",
        ),
    ]


async def idle(bench: BenchNode) -> list[Figure]:
    """Look at the agent once its slices are published."""
    await bench.settled()
    found = process.memory(bench.pid)
    return [
        Figure(
            key="idle.rss",
            name="memory idle, all plugins: resident",
            value=found.rss,
            unit="MB",
            goal=GOAL_MEMORY,
        ),
        Figure(key="idle.pss", name="memory idle: shared pages divided", value=found.pss, unit="MB"),
        Figure(key="idle.anonymous", name="memory idle: anonymous", value=found.anonymous, unit="MB"),
        Figure(key="idle.threads", name="threads idle", value=process.threads(bench.pid)),
        Figure(key="idle.descriptors", name="open files idle", value=process.descriptors(bench.pid)),
    ]
