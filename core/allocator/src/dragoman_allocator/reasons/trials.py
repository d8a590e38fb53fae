"""Allocates parts of the claims, within a number of steps for all of it, so that no clock is needed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import TypeAlias

from msgspec.structs import replace

from dragoman_allocator.allocation import Allocator, Observer
from dragoman_allocator.errors import AllocationFailed, FailedOnNode, TooManySteps
from dragoman_allocator.objects import ClaimDevices, ClaimSpec, DeviceConstraint, Node, ResourceClaim

Part: TypeAlias = tuple[int, int]
"""Index of a claim, and of a request or constraint in it."""


class Verdict(Enum):
    """What a trial came to."""

    FITS = auto()
    MISFITS = auto()
    UNKNOWN = auto()


class Trials:
    """Trials on one node: ``limit`` steps for each, ``total`` for all of them together.

    A request that is read counts as a step of the total, or a claim of a thousand of them would take forever.
    """

    def __init__(self, allocator: Allocator, node: Node, *, limit: int, total: int) -> None:
        self._allocator = allocator
        self._node = node
        self._limit = limit
        self._left = total

    def verdict(self, claims: Sequence[ResourceClaim], observer: Observer | None = None) -> Verdict:
        """Tell whether the claims fit; unknown where the steps are used up or an error ends the attempt."""
        if self._left <= 0:
            return Verdict.UNKNOWN
        self._left -= sum(len(claim.spec.devices.requests or ()) for claim in claims)
        limit = min(self._limit, max(self._left, 0))
        try:
            outcome = self._allocator.allocate(claims, self._node, observer, steps_limit=limit)
        except TooManySteps:
            self._left -= limit
            return Verdict.UNKNOWN
        except FailedOnNode:
            self._left -= 1  # the number of steps is not known
            return Verdict.MISFITS
        except AllocationFailed:
            return Verdict.UNKNOWN
        self._left -= outcome.steps
        return Verdict.MISFITS if outcome.results is None else Verdict.FITS


def reduced(
    claims: Sequence[ResourceClaim], requests: Sequence[Part], constraints: Sequence[Part]
) -> list[ResourceClaim]:
    """Give the claims with these requests and constraints only; a claim without requests is left out."""
    kept_requests, kept_constraints = frozenset(requests), frozenset(constraints)
    found = []
    for number, claim in enumerate(claims):
        spec = claim.spec.devices
        kept = [each for index, each in enumerate(spec.requests or ()) if (number, index) in kept_requests]
        if not kept:
            continue
        names = {request.name for request in kept}
        bound = [
            narrowed
            for index, each in enumerate(spec.constraints or ())
            if (number, index) in kept_constraints and (narrowed := _narrowed(each, names)) is not None
        ]
        found.append(replace(claim, spec=ClaimSpec(devices=ClaimDevices(requests=kept, constraints=bound))))
    return found


def _narrowed(constraint: DeviceConstraint, names: set[str]) -> DeviceConstraint | None:
    if not constraint.requests:
        return constraint
    kept = [each for each in constraint.requests if each.partition("/")[0] in names]
    # An empty list would mean all requests.
    return replace(constraint, requests=kept) if kept else None
