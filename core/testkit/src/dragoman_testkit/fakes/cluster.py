"""What the engine meets of the cluster, in memory: claims, status, events, pod resources. Needs the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.model.claims import Claim, ClaimRef
from dragoman.model.errors import ClaimNotFound, ClaimReplaced, Unavailable
from dragoman.model.status import ClaimStatus, Event


class MemoryClaims:
    """Satisfies ``ClaimSource``; ``reads`` counts the reads, ``away`` makes every read fail with ``Unavailable``."""

    def __init__(self, *claims: Claim) -> None:
        self._claims = {(claim.namespace, claim.name): claim for claim in claims}
        self.reads = 0
        self.away = False

    def put(self, claim: Claim) -> None:
        """Create or replace a claim."""
        self._claims[claim.namespace, claim.name] = claim

    def delete(self, ref: ClaimRef) -> None:
        """Delete a claim."""
        self._claims.pop((ref.namespace, ref.name), None)

    async def read(self, ref: ClaimRef) -> Claim:
        """Read a claim."""
        self.reads += 1
        if self.away:
            raise Unavailable(f"{ref} cannot be read: the API server does not answer")
        claim = self._claims.get((ref.namespace, ref.name))
        if claim is None:
            raise ClaimNotFound(f"{ref} does not exist")
        if claim.uid != ref.uid:
            raise ClaimReplaced(f"{ref} was replaced: its uid is {claim.uid}, asked for was {ref.uid}")
        return claim


class MemoryStatus:
    """Satisfies ``ClaimStatusSink``; ``writes`` holds all, ``errors`` are raised one by one by the next writes."""

    def __init__(self) -> None:
        self.writes: list[ClaimStatus] = []
        self.errors: list[Exception] = []

    async def write(self, status: ClaimStatus) -> None:
        """Take a status, or raise the next of ``errors``."""
        if self.errors:
            raise self.errors.pop(0)
        self.writes.append(status)

    def last(self, claim_uid: str) -> ClaimStatus | None:
        """Give the status that was written last for a claim."""
        return next((status for status in reversed(self.writes) if status.claim.uid == claim_uid), None)


class MemoryEvents:
    """Satisfies ``EventSink``."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def emit(self, event: Event) -> None:
        """Take an event."""
        self.events.append(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPodClaim:
    """Satisfies ``PodClaim``."""

    claim_namespace: str
    claim_name: str
    driver: str
    pool: str
    device: str
    share_id: str = ""


class MemoryPodResources:
    """Satisfies ``PodResources``; ``asked`` lists the pods that were asked for."""

    def __init__(self) -> None:
        self.pods: dict[tuple[str, str], list[MemoryPodClaim]] = {}
        self.asked: list[tuple[str, str]] = []
        self.away = False

    async def devices_of(self, namespace: str, pod: str) -> Sequence[MemoryPodClaim]:
        """List the devices of a pod."""
        self.asked.append((namespace, pod))
        if self.away:
            raise Unavailable("the pod-resources socket does not answer")
        return self.pods.get((namespace, pod), [])
