"""API requests in the life of a claim."""

from __future__ import annotations

from dragoman.nri._proto import nri_pb2 as pb
from tests.bench.attaching import network, sandbox, tell
from tests.bench.figures import Figure
from tests.bench.node import BenchNode

GOAL_IN = 3
GOAL_OUT = 0


async def requests(bench: BenchNode) -> list[Figure]:
    """Lead one claim in and out and count what the agent asks of the API server, whatever it is about."""
    claim = bench.claim([0])
    before = await _count(bench)
    async with network(bench.node.netns_dir) as where:
        pod = sandbox(claim.pod_uid, where)
        await bench.prepare([claim])
        await bench.settled()  # else prepared and attached may be told in one
        await tell(bench, pb.RUN_POD_SANDBOX, pod)
        inside = await _count(bench)
        asked = " ".join(verb for verb, path in bench.node.api.requests if claim.name in path)
        await tell(bench, pb.STOP_POD_SANDBOX, pod)
        await bench.unprepare([claim])
        await tell(bench, pb.REMOVE_POD_SANDBOX, pod)
    outside = await _count(bench)
    bench.forget([claim])
    return [
        Figure(
            key="requests.in",
            name="API requests of a claim, way in",
            value=inside - before,
            goal=GOAL_IN,
            note=f"about the claim: {asked}",
        ),
        Figure(key="requests.out", name="API requests of a claim, way out", value=outside - inside, goal=GOAL_OUT),
    ]


async def _count(bench: BenchNode) -> int:
    status = await bench.settled()
    return int(status["apiRequests"])
