"""Attach over NRI, against the bare netlink calls, in turn."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.nri._proto import nri_pb2 as pb
from dragoman_kit import netns
from dragoman_testkit.sandbox import kernel
from dragoman_testkit.sandbox.runtime import FakeSandbox
from dragoman_testkit.sandbox.runtime_netns import PodNetwork
from tests.bench import bare
from tests.bench.bare import Wanted
from tests.bench.figures import Figure, middle, percentile
from tests.bench.node import BenchNode, NotMeasured, wanted

GOAL_RATIO = 1.5
_ROUNDS = {1: 30, 8: 8}
"""Links of a pod, and how many rounds are measured with them."""
_BARE = 1000
"""Number of the first link that the bare calls move: no device of the agent has its name."""
_QUIET = 0.3
"""Seconds after which the agent has looked at the links that were just made."""


@dataclass(slots=True)
class _Times:
    """Seconds of each round."""

    attach: list[float] = field(default_factory=list)
    back: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)


async def attaches(bench: BenchNode) -> list[Figure]:
    """Attach one link, and several links of one pod."""
    figures: list[Figure] = []
    for links, rounds in _ROUNDS.items():
        figures += _figures(links, await _rounds(bench, links, rounds))
    return figures


@contextlib.asynccontextmanager
async def network(folder: Path) -> AsyncIterator[PodNetwork]:
    """Make a pod's network namespace. It serves all rounds: the kernel's end of one would disturb the next round."""
    name = uuid.uuid4().hex[:8]
    made = PodNetwork(folder / f"bench-{name}", f"veth{name}", "10.244.0.2/16")
    await made.create()
    try:
        yield made
    finally:
        await made.remove()


def sandbox(uid: str, where: PodNetwork) -> FakeSandbox:
    """Make a sandbox that plugins have not been told of."""
    return FakeSandbox(uuid.uuid4().hex, uid, "default", f"pod-{uid[:8]}", {}, where, ("10.244.0.2",))


async def tell(bench: BenchNode, event: int, about: FakeSandbox) -> float:
    """Tell the agent of an event of a sandbox; give the seconds until its answer."""
    message = about.message(with_netns=True)
    began = time.perf_counter()
    await bench.node.runtime.nri.happen(event, message)
    return time.perf_counter() - began


async def _rounds(bench: BenchNode, links: int, rounds: int) -> _Times:
    times = _Times()
    async with network(bench.node.netns_dir) as ours, network(bench.node.netns_dir) as theirs:
        await _round(bench, links, ours, theirs, _Times())  # warms up
        for _ in range(rounds):
            await _round(bench, links, ours, theirs, times)
    return times


async def _round(bench: BenchNode, links: int, ours: PodNetwork, theirs: PodNetwork, times: _Times) -> None:
    claim = bench.claim(range(links))
    await bench.prepare([claim])
    plain = [wanted(_BARE + position, position) for position in range(links)]
    with _links(bench.link_kind, plain, theirs.path):
        await bench.settled()
        await asyncio.sleep(_QUIET)
        # Whoever is second has the agent's work after an attach beside it, so they take turns.
        if len(times.plain) % 2:
            times.plain.append(await asyncio.to_thread(bare.attach, theirs.path, plain))
        pod = sandbox(claim.pod_uid, ours)
        times.attach.append(await tell(bench, pb.RUN_POD_SANDBOX, pod))
        if len(times.plain) < len(times.attach):
            times.plain.append(await asyncio.to_thread(bare.attach, theirs.path, plain))
    _check(ours.path, claim.links)
    await bench.settled()
    times.back.append(await tell(bench, pb.STOP_POD_SANDBOX, pod))
    await bench.unprepare([claim])
    bench.forget([claim])


@contextlib.contextmanager
def _links(kind: str, links: Sequence[Wanted], where: Path) -> Iterator[None]:
    """Have links to be moved, and delete them from where they were moved to."""
    with bare.Socket() as host:
        for link in links:
            host.add(link.host_name, kind)
    yield
    with netns.opened(str(where)) as handle, netns.entered(handle), bare.Socket() as pod:
        for link in links:
            pod.delete(link.name)


def _check(where: Path, links: Sequence[Wanted]) -> None:
    """Raise ``NotMeasured`` where an attach answered and had not done its work."""
    found = {link.name: link for link in kernel.links(where)}
    for link in links:
        view = found.get(link.name)
        if view is None or link.address not in view.addresses or not view.routes:
            raise NotMeasured(f"link {link.name} is not in the pod as it was asked for: {view}")


def _figures(links: int, times: _Times) -> Sequence[Figure]:
    what = f"attach of {links} link{'s' if links > 1 else ''}"
    attach, plain = middle(times.attach), middle(times.plain)
    medians = f"{attach * 1000:.1f} ms against {plain * 1000:.1f} ms, medians of {len(times.plain)} rounds in turn"
    quiet = percentile(times.attach, 25) / percentile(times.plain, 25)
    return [
        Figure(
            key=f"attach.{links}.ratio",
            name=f"{what} against bare calls",
            value=attach / plain,
            unit="x",
            goal=GOAL_RATIO,
            note=f"{medians}; of the lower quartiles {quiet:.2f} x",
        ),
        Figure(
            key=f"return.{links}", name=f"return of {links} to the host", value=middle(times.back) * 1000, unit="ms"
        ),
    ]
