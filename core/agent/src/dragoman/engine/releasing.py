"""Claims that a person gives up: which claim is meant, and which running pods have its devices."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from dragoman.engine.parts import Parts
from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman.store.ledger import Ledger
from dragoman_hookspecs import DragomanError


class Ambiguous(DragomanError):
    """Several claims of that name are in the ledger."""


class InUse(DragomanError):
    """A running pod has a device of the claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A device that a running pod has, and loses with a release; ``pod`` is ``namespace/name``."""

    device: str
    pod: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What was given up: ``claim`` is ``namespace/name``, "" where the ledger has nothing of it."""

    claim: str = ""
    devices: tuple[str, ...] = ()
    taken: tuple[Taken, ...] = ()


def uid_of(ledger: Ledger, text: str) -> str:
    """Give the UID of the claim that a person means by its UID or by ``namespace/name``; the text where none is.

    Raises ``Ambiguous``.
    """
    if ledger.of_claim(text):
        return text
    claims = {row.claim for row in ledger.allocations()}
    uids = sorted(claim.uid for claim in claims if f"{claim.namespace}/{claim.name}" == text)
    if len(uids) > 1:
        raise Ambiguous(f"claim {text} is prepared under {len(uids)} UIDs on this node; name one: {', '.join(uids)}")
    return uids[0] if uids else text


@dataclass(frozen=True, slots=True)
class Releasing:
    """Begins to free a claim by hand; the caller holds the lock of the claim."""

    parts: Parts

    async def begin(self, uid: str, *, from_pods: bool) -> tuple[list[AllocationRow], tuple[Taken, ...]]:
        """Mark the rows of a claim FREEING, and give them with what running pods lose.

        A device on its way into a pod is waited for. Raises ``InUse`` where a running pod has a device, unless it is
        to be taken ``from_pods``; then nothing is marked.
        """
        ledger = self.parts.ledger
        async with AsyncExitStack() as stack:
            for key in sorted(row.key for row in ledger.of_claim(uid)):
                await stack.enter_async_context(self.parts.locks.hold(key))
            rows = ledger.of_claim(uid)
            inside = [(row, each) for row in rows for each in ledger.attachments_of(row.key)]
            taken = tuple([_taken(each) for row, each in inside if await self._has(row, each)])
            if taken and not from_pods:
                raise InUse(_in_use(rows[0], taken))
            # Marked under the locks: a pod that starts now does not get what is about to go.
            rows = [replace(row, state=AllocationState.FREEING) for row in ledger.of_claim(uid)]
            ledger.put_allocations(rows)
        return rows, taken

    async def _has(self, row: AllocationRow, attachment: AttachmentRow) -> bool:
        """Tell whether a pod runs with the device. What is being freed or detached is not the pod's any more."""
        whole = (row.state, attachment.state) == (AllocationState.PREPARED, AttachmentState.ATTACHED)
        return whole and await self.parts.links.same_netns(attachment.netns)


def _taken(attachment: AttachmentRow) -> Taken:
    return Taken(device=attachment.key.allocation.device, pod=f"{attachment.pod_namespace}/{attachment.pod_name}")


def _in_use(row: AllocationRow, taken: Sequence[Taken]) -> str:
    devices = ", ".join(f"device {each.device} is attached to pod {each.pod}" for each in taken)
    return (
        f"{row.claim} is in use: {devices}; delete the pod first, or give --force to take the device away from the "
        "running pod"
    )
