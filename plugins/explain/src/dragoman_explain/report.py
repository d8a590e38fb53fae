"""What is said of one subject, before it is put into words or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from dragoman_allocator.eviction import Cause, Eviction
from dragoman_allocator.objects import AllocationResult
from dragoman_allocator.objects.pods import NodeAllocatableClaimStatus
from dragoman_allocator.reasons import NodeReasons
from dragoman_explain.store import Key


class State(StrEnum):
    """What became of a subject, or would become of it."""

    ALLOCATED = "allocated"
    FITS = "would be allocated"
    STUCK = "stuck"
    UNDECIDED = "undecided"


class Exit(IntEnum):
    """Exit codes of the command, beside 1 for an error and 2 for wrong usage."""

    GOOD = 0
    STUCK = 3
    UNDECIDED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """One node: what would be allocated there by claim (``namespace/name``), or why not.

    ``charges``: what claims add to the pod's cpu, memory and huge pages (KEP-5517).
    """

    node: str
    state: State
    text: str
    allocations: Mapping[str, AllocationResult] = field(default_factory=dict)
    reasons: NodeReasons | None = None
    charges: Sequence[NodeAllocatableClaimStatus] = ()

    @property
    def fatal(self) -> bool:
        """Tell whether an error here ends the scheduler's attempt on all nodes."""
        return self.reasons is not None and self.reasons.everywhere

    @property
    def distance(self) -> int:
        """How far the node is from fitting."""
        if self.state is State.FITS:
            return 0
        return self.reasons.distance if self.reasons is not None and self.reasons.results is None else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What an allocated claim has. ``nodes``: where it can be used; ``waits``: binding conditions not met yet."""

    claim: str
    allocation: AllocationResult
    nodes: str
    reserved_for: Sequence[str] = ()
    waits: Sequence[str] = ()
    causes: Sequence[Cause] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One subject; ``nodes`` are sorted: where it fits, then near misses. ``before``: its state without the changes."""

    key: Key
    state: State
    text: str
    notes: Sequence[str] = ()
    held: Sequence[Held] = ()
    evictions: Sequence[Eviction] = ()
    nodes: Sequence[NodeReport] = ()
    before: State | None = None


def exit_code(reports: Sequence[Report]) -> Exit:
    """Give the exit code for all subjects together."""
    states = {report.state for report in reports}
    if State.STUCK in states:
        return Exit.STUCK
    return Exit.UNDECIDED if State.UNDECIDED in states else Exit.GOOD
