"""Tells for claims and a node what would be allocated, or why not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from dragoman_allocator.allocation import Allocator, Check, DeviceId
from dragoman_allocator.allocation.rules import Rules
from dragoman_allocator.allocation.target import claim_name
from dragoman_allocator.allocation.view import NodeView
from dragoman_allocator.errors import AllocationFailed, FailedOnNode, TooManySteps
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceTaintRule, Node, ResourceClaim, ResourceSlice
from dragoman_allocator.reasons.conflict import Core, Refusals, describe
from dragoman_allocator.reasons.facts import Facts
from dragoman_allocator.reasons.model import Conflict, DeviceReasons, NodeReasons, Remedy, RequestReasons
from dragoman_allocator.reasons.pools import faults
from dragoman_allocator.reasons.remedies import Remedies
from dragoman_allocator.reasons.survey import Survey
from dragoman_allocator.reasons.trials import Trials
from dragoman_allocator.reasons.values import Values

SEARCH_STEPS: Final = 1_000_000
"""Steps of the search for all claims; the scheduler would have given up by then (DRASchedulerFilterTimeout, 10 s)."""
TRIAL_STEPS: Final = 10_000
"""Steps of one search for a conflict or a remedy."""
ALL_TRIALS: Final = 100_000
"""Steps of all these together."""


class Explainer:
    """Reasons beside an allocator. Objects are those that the allocator was made of; one thread only.

    ``nearest`` limits the devices that are listed per request beside those that fit, None lists all.
    """

    def __init__(
        self,
        allocator: Allocator,
        slices: Sequence[ResourceSlice],
        taint_rules: Sequence[DeviceTaintRule],
        claims: Iterable[ResourceClaim],
        features: Features,
        *,
        nearest: int | None = None,
    ) -> None:
        """``claims`` are the allocated ones; more do no harm. Raises ``InvalidInput`` for a broken quantity."""
        claims = list(claims)
        self._allocator = allocator
        self._facts = Facts(slices, taint_rules, claims, Rules.of(features))
        self._allocated = {claim_name(claim): claim for claim in claims if claim.status.allocation is not None}
        self._nearest = nearest

    def explain(
        self,
        claims: Sequence[ResourceClaim],
        node: Node,
        *,
        steps: int | None = SEARCH_STEPS,
        give_up: Callable[[], bool] | None = None,
        remedies: bool = False,
    ) -> NodeReasons:
        """Allocate the claims together on the node, and say why where they do not fit; ``steps`` is None for no limit.

        ``give_up`` is that of ``Allocator.allocate``. ``remedies`` has single changes tried that would make them fit.
        Raises ``InvalidInput`` for a broken quantity.
        """
        found = NodeReasons(node=node.metadata.name)
        try:
            outcome = self._allocator.allocate(claims, node, steps_limit=steps, give_up=give_up)
        except TooManySteps as given_up:
            return self._why(replace(found, undecided=True, steps=given_up.steps), claims, node)
        except FailedOnNode as failure:
            return self._misfit(replace(found, error=str(failure)), claims, node, remedies=remedies)
        except AllocationFailed as failure:
            return self._why(replace(found, error=str(failure), everywhere=True), claims, node)
        found = replace(found, results=outcome.results, steps=outcome.steps)
        return found if found.results is not None else self._misfit(found, claims, node, remedies=remedies)

    def _why(self, found: NodeReasons, claims: Sequence[ResourceClaim], node: Node) -> NodeReasons:
        requests = Survey(self._allocator, self._facts, node, self._nearest).of(claims)
        view = self._view(node)
        pools = faults(self._facts, node, view.pools) if view is not None else []
        return replace(found, requests=requests, pools=pools)

    def _misfit(
        self, found: NodeReasons, claims: Sequence[ResourceClaim], node: Node, *, remedies: bool
    ) -> NodeReasons:
        found = self._why(found, claims, node)
        trials = Trials(self._allocator, node, limit=TRIAL_STEPS, total=ALL_TRIALS)
        core = Core(trials, claims)
        core.shrink()
        refusals = self._refusals(core, trials)
        requests = [_refused(request, refusals) for request in found.requests]
        values = Values(self._allocator.library, self._view(node))
        clash = describe(core, requests, refusals, values) if core.requests else None
        found = replace(found, requests=requests, conflict=clash)
        return replace(found, remedies=self._remedies(trials, claims, requests, clash)) if remedies else found

    def _remedies(
        self,
        trials: Trials,
        claims: Sequence[ResourceClaim],
        requests: Sequence[RequestReasons],
        conflict: Conflict | None,
    ) -> Sequence[Remedy]:
        return Remedies(self._allocator, trials, claims, self._allocated).found(requests, conflict)

    def _refusals(self, core: Core, trials: Trials) -> Refusals:
        kept = core.kept()
        refusals: defaultdict[tuple[str, str], defaultdict[DeviceId, Counter[Check]]]
        refusals = defaultdict(lambda: defaultdict(Counter))

        def observe(claim: int, request: str, device: DeviceId, check: Check) -> None:
            refusals[claim_name(kept[claim]), request][device][check] += 1

        trials.verdict(kept, observe)
        return refusals

    def _view(self, node: Node) -> NodeView | None:
        try:
            return self._allocator.plan([], node)[0]
        except AllocationFailed:
            return None  # a node selector of a slice is broken, which is the error that was told


def _refused(request: RequestReasons, refusals: Refusals) -> RequestReasons:
    by_device = refusals.get((request.claim, request.request), {})
    return replace(request, devices=[_refused_device(each, by_device.get(each.device, {})) for each in request.devices])


def _refused_device(device: DeviceReasons, checks: Iterable[Check]) -> DeviceReasons:
    return device if device.findings else replace(device, refused=tuple(sorted(checks, key=list(Check).index)))
