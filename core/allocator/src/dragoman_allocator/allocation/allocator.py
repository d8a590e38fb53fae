"""The allocator: what does not depend on the attempt is worked out once, what stored claims hold is kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from dragoman_allocator.allocation.checks import Observer
from dragoman_allocator.allocation.devices import Catalog
from dragoman_allocator.allocation.pools import PoolBuilder
from dragoman_allocator.allocation.prepare import Library, Preparation
from dragoman_allocator.allocation.result import ShareIds, build, new_share_id
from dragoman_allocator.allocation.rules import Rules
from dragoman_allocator.allocation.search import Search
from dragoman_allocator.allocation.target import ClaimPlan
from dragoman_allocator.allocation.use import AllocatedState
from dragoman_allocator.allocation.view import NodeView
from dragoman_allocator.cel import Environment
from dragoman_allocator.errors import FailedOnNode
from dragoman_allocator.features import Features
from dragoman_allocator.objects import (
    AllocationResult,
    DeviceClass,
    DeviceTaintRule,
    Node,
    ResourceClaim,
    ResourceSlice,
)


@cache
def _environment(features: Features) -> Environment:
    # Compiled expressions outlive an allocator: those of the next one are mostly the same.
    return Environment(features, stored=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """``results``: one per claim, or None where the claims do not fit; ``steps``: size of the search."""

    results: list[AllocationResult] | None
    steps: int


class Allocator:
    """Says what the scheduler would allocate (KEP-4381 and its follow-ups, as in Kubernetes 1.37.2).

    Slices, classes and rules are fixed; what claims hold changes with ``assume`` and ``forget``. One thread only.
    """

    def __init__(
        self,
        slices: Sequence[ResourceSlice],
        classes: Iterable[DeviceClass],
        taint_rules: Sequence[DeviceTaintRule] = (),
        allocated_claims: Iterable[ResourceClaim] = (),
        features: Features | None = None,
        *,
        share_ids: ShareIds = new_share_id,
    ) -> None:
        """Objects have the API server's defaults. Raises ``InvalidInput`` for a broken quantity of a claim."""
        features = features or Features()
        self._rules = Rules.of(features)
        self._share_ids = share_ids
        self.allocated = AllocatedState(capacity=self._rules.capacity)
        for claim in allocated_claims:
            if claim.status.allocation is not None:
                self.assume(claim, claim.status.allocation)
        catalog = Catalog(slices, taint_rules, self.allocated, self._rules)
        self._pools = PoolBuilder(catalog, self._rules)
        by_name = {device_class.metadata.name: device_class for device_class in classes}
        self.library = Library(by_name, _environment(features), self._rules)
        self._views: dict[tuple[str, frozenset[tuple[str, str]]], NodeView] = {}

    def assume(self, claim: ResourceClaim, result: AllocationResult) -> None:
        """Count the allocation of a claim as stored. Raises ``InvalidInput`` for a broken quantity."""
        self.allocated.add(result.devices.results or ())

    def forget(self, claim: ResourceClaim, result: AllocationResult) -> None:
        """Take back an allocation that was counted. Raises ``InvalidInput`` for a broken quantity."""
        self.allocated.remove(result.devices.results or ())

    def plan(
        self, claims: Sequence[ResourceClaim], node: Node, observer: Observer | None = None
    ) -> tuple[NodeView, list[ClaimPlan]]:
        """Read the claims for one node, which is all but the search. Raises ``AllocationFailed``."""
        view = self._view(node)
        preparation = Preparation(self.library, view, observer)
        return view, [preparation.plan(index, claim) for index, claim in enumerate(claims)]

    def allocate(
        self,
        claims: Sequence[ResourceClaim],
        node: Node,
        observer: Observer | None = None,
        *,
        steps_limit: int | None = None,
        give_up: Callable[[], bool] | None = None,
    ) -> Outcome:
        """Find devices for all claims together on one node; nothing is assumed.

        ``give_up`` is asked every few thousand steps whether the search has gone on for too long: there is no clock
        here. Raises ``FailedOnNode`` where only this node has a problem, ``AllocationFailed`` where every node would
        have it, ``TooManySteps`` where the search needs more steps than ``steps_limit`` or was given up.
        """
        view, plans = self.plan(claims, node, observer)
        search = Search(node, plans, self._rules, limit=steps_limit, give_up=give_up)
        solutions = search.run()
        if solutions is None:
            if view.has_invalid_pool:
                raise FailedOnNode("invalid resource pools were encountered")
            return Outcome(None, search.steps)
        results = [
            build(claim, solution, node, self._rules, self._share_ids)
            for claim, solution in zip(claims, solutions, strict=True)
        ]
        return Outcome(results, search.steps)

    def _view(self, node: Node) -> NodeView:
        key = (node.metadata.name, frozenset((node.metadata.labels or {}).items()))
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = NodeView(node, self._pools.gather(node))
        return view
