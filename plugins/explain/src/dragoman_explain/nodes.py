"""One node after the other, in several processes where there are many: what would be allocated there, or why not."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from multiprocessing.process import BaseProcess
from typing import Final

from dragoman_allocator.accounting import Claims, Cluster
from dragoman_allocator.accounting.extended import Unfit, claim_on_node, new_claim
from dragoman_allocator.allocation import Allocator
from dragoman_allocator.objects import Node, Pod, ResourceClaim
from dragoman_allocator.objects.pods import NodeAllocatableClaimStatus
from dragoman_allocator.reasons import Explainer, NodeReasons, summary
from dragoman_explain import scope
from dragoman_explain.report import NodeReport, State
from dragoman_explain.subjects import FINISHED, Subject
from dragoman_explain.world import World

PAYS_FROM: Final = 20_000
"""Devices on all nodes together from which a process more is worth its start."""
STEPS: Final = 5_000_000
"""Steps of the searches on all nodes together, about a minute; one node has a tenth of it at most."""
FEWEST_STEPS: Final = 20_000
"""What a node has in any case: nearly all claims need less than a hundred."""


class Trying:
    """Tries the claims of a subject on nodes of a world."""

    def __init__(self, world: World, subject: Subject, *, nearest: int | None) -> None:
        """``nearest`` limits the devices that are kept per request and node. Raises ``InvalidInput``."""
        self._world = world
        self._claims = Claims([*world.claims.values(), *subject.made])
        self._wanted = [claim for claim in subject.claims if claim.status.allocation is None]
        self._given = [claim for claim in subject.claims if claim.status.allocation is not None]
        self._pod = subject.pod
        self._steps = max(FEWEST_STEPS, STEPS // max(10, len(world.nodes)))
        self._takes_extended = subject.extended
        allocator = Allocator(world.slices, world.classes, world.rules, world.claims.values(), world.features)
        self._allocator = allocator
        self._explainer = Explainer(
            allocator, world.slices, world.rules, world.claims.values(), world.features, nearest=nearest
        )

    @property
    def nodes(self) -> list[Node]:
        """The nodes that matter: the pod's own where it has one."""
        own = self._pod.spec.node_name if self._pod is not None else ""
        return [node for node in self._world.nodes if own in ("", node.metadata.name)]

    def at(self, node: Node) -> NodeReport:
        """Try one node. Raises ``InvalidInput``."""
        name = node.metadata.name
        if elsewhere := [text for claim in self._given if (text := scope.misses(claim, node))]:
            return NodeReport(node=name, state=State.STUCK, text="; ".join(elsewhere))
        try:
            wanted = [*self._wanted, *self._extended(node)]
        except Unfit as error:
            return NodeReport(node=name, state=State.STUCK, text=str(error))
        reasons = self._explainer.explain(wanted, node, steps=self._steps, remedies=True)
        if reasons.undecided:
            return NodeReport(node=name, state=State.UNDECIDED, text=summary(reasons), reasons=reasons)
        if reasons.results is None:
            return NodeReport(node=name, state=State.STUCK, text=summary(reasons), reasons=reasons)
        if self._pod is not None:
            return self._with_pod(self._pod, node, wanted, reasons)
        return _fitting(node, wanted, reasons)

    def _extended(self, node: Node) -> list[ResourceClaim]:
        """Give the claim that the scheduler makes for extended resources on the node. Raises ``Unfit``."""
        if self._pod is None or not self._takes_extended:
            return []
        claim, is_needed = claim_on_node(new_claim(self._pod), self._pod, node, self._world.extended)
        return [claim] if is_needed else []

    def _with_pod(self, pod: Pod, node: Node, wanted: Sequence[ResourceClaim], reasons: NodeReasons) -> NodeReport:
        """Ask also what only the pod makes a matter: its other claims, and what the node has left (KEP-5517)."""
        attempt = self._cluster.try_pod(pod, node, self._running(node))
        said = [status for status in (attempt.pre_filter, attempt.filter) if status is not None and not status.good]
        if said and said[0].reasons:
            return NodeReport(node=node.metadata.name, state=State.STUCK, text="; ".join(said[0].reasons))
        return _fitting(node, wanted, reasons, attempt.statuses or ())

    def _running(self, node: Node) -> list[Pod]:
        return [
            pod
            for pod in self._world.pods.values()
            if pod.spec.node_name == node.metadata.name and pod.status.phase not in FINISHED
        ]

    @cached_property
    def _cluster(self) -> Cluster:
        world = self._world
        return Cluster(
            claims=self._claims,
            classes=world.classes,
            slices=world.slices,
            allocator=self._allocator,
            features=world.features,
            now=world.now,
        )


def at_all(trying: Trying, devices: int) -> list[NodeReport]:
    """Try all nodes, near misses first; ``devices`` of the world tell whether more processes pay."""
    nodes = trying.nodes
    processes = min(_processors(), devices // PAYS_FROM, len(nodes))
    if processes > 1 and _can_fork():
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(processes, context, _take, (trying,)) as pool:
            found = list(pool.map(_at, nodes, chunksize=max(1, len(nodes) // (4 * processes))))
    else:
        found = [trying.at(node) for node in nodes]
    return sorted(found, key=lambda each: (each.state is not State.FITS, each.distance, each.node))


_taken: list[Trying] = []


def _take(trying: Trying) -> None:
    _taken[:] = [trying]
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    """End when the parent was killed: it cannot end its pool, whose processes would wait for work for ever."""
    parent.join()
    os._exit(1)


def _at(node: Node) -> NodeReport:
    return _taken[0].at(node)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _can_fork() -> bool:
    """Tell whether a forked process works: not beside other threads, which may hold locks for ever in it."""
    return "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1


def _fitting(
    node: Node,
    wanted: Sequence[ResourceClaim],
    reasons: NodeReasons,
    charges: Sequence[NodeAllocatableClaimStatus] = (),
) -> NodeReport:
    found = {_name(claim): each for claim, each in zip(wanted, reasons.results or (), strict=True)}
    return NodeReport(
        node=node.metadata.name,
        state=State.FITS,
        text="; ".join(map(scope.allocation_text, found.values())),
        allocations=found,
        reasons=reasons,
        charges=charges,
    )


def _name(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"
