"""One request, or one of its subrequests, as the search works on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dragoman_allocator.allocation.attributes import Value
from dragoman_allocator.allocation.capacity import Amounts
from dragoman_allocator.allocation.constraints import Constraint
from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.pools import Pool
from dragoman_allocator.allocation.view import Selection
from dragoman_allocator.allocation.wanted import Wanted
from dragoman_allocator.objects import ResourceClaim

Look = Callable[[DeviceRecord], Value | None]
"""Gives what a constraint compares of a device; may raise ``AllocationFailed``."""


@dataclass(slots=True, eq=False, kw_only=True)
class Target(Wanted):
    """How many devices are needed, and where they may come from."""

    needed: int = 0
    everything: list[tuple[DeviceRecord, Pool, Amounts]] = field(default_factory=list)
    constraints: list[tuple[Constraint, Look]] = field(default_factory=list)
    selection: Selection | None = None


@dataclass(slots=True)
class RequestPlan:
    """One request; ``targets`` are its subrequests by preference if it is ``prioritized``, else the request itself."""

    targets: list[Target]
    prioritized: bool


@dataclass(slots=True)
class ClaimPlan:
    """One claim."""

    claim: ResourceClaim
    requests: list[RequestPlan]


def claim_name(claim: ResourceClaim) -> str:
    """Give the name as errors have it: ``namespace/name``."""
    namespace, name = claim.metadata.namespace, claim.metadata.name
    return f"{namespace}/{name}" if namespace else name
