"""States of the ledger and their legal transitions. The documentation draws its diagrams from these tables."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from dragoman_hookspecs import DragomanError


class AllocationState(enum.StrEnum):
    """What a row of the table *allocations* means on disk."""

    PREPARING = "PREPARING"
    """The plan is durable; side effects may exist."""
    PREPARED = "PREPARED"
    """Plugin state and files are complete."""
    FREEING = "FREEING"
    """Free has started."""


class AttachmentState(enum.StrEnum):
    """What a row of the table *attachments* means on disk."""

    ATTACHING = "ATTACHING"
    """The snapshot is durable; the move may have happened."""
    ATTACHED = "ATTACHED"
    """The device is in the sandbox's network namespace and the guard is open."""
    DETACHING = "DETACHING"
    """On its way back."""


ALLOCATION_TRANSITIONS: Mapping[AllocationState | None, frozenset[AllocationState | None]] = {
    None: frozenset({AllocationState.PREPARING}),
    AllocationState.PREPARING: frozenset({AllocationState.PREPARED, AllocationState.FREEING}),
    AllocationState.PREPARED: frozenset({AllocationState.FREEING}),
    AllocationState.FREEING: frozenset({AllocationState.FREEING, None}),
}
"""From a state to the next; None is "no row"."""

ATTACHMENT_TRANSITIONS: Mapping[AttachmentState | None, frozenset[AttachmentState | None]] = {
    None: frozenset({AttachmentState.ATTACHING}),
    AttachmentState.ATTACHING: frozenset({AttachmentState.ATTACHED, AttachmentState.DETACHING}),
    AttachmentState.ATTACHED: frozenset({AttachmentState.DETACHING}),
    AttachmentState.DETACHING: frozenset({AttachmentState.DETACHING, None}),
}
"""From a state to the next; None is "no row"."""


class IllegalTransition(DragomanError):
    """A row was to go to a state that its present state does not allow: a fault of the program."""


def check_allocation(old: AllocationState | None, new: AllocationState | None) -> None:
    """Raise ``IllegalTransition`` unless ``old`` may become ``new``."""
    if new not in ALLOCATION_TRANSITIONS[old]:
        raise IllegalTransition(f"allocation cannot go from {old} to {new}")


def check_attachment(old: AttachmentState | None, new: AttachmentState | None) -> None:
    """Raise ``IllegalTransition`` unless ``old`` may become ``new``."""
    if new not in ATTACHMENT_TRANSITIONS[old]:
        raise IllegalTransition(f"attachment cannot go from {old} to {new}")
