"""What the engine meets of the cluster, in memory: claims, status, events, pod resources. Needs the agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.model.claims import Claim, ClaimRef, NodeClaimsRead, StatusEntry
from dragoman.model.errors import ClaimNotFound, ClaimReplaced, Unavailable
from dragoman.model.status import ClaimStatus, Event


class MemoryClaims:
    """Satisfies ``ClaimSource`` and ``NodeClaims``.

    ``reads`` counts the reads of one claim, ``away`` makes every read fail with ``Unavailable``. ``unreadable`` are the
    names of claims that ``of_node`` cannot read.
    """

    def __init__(self, *claims: Claim) -> None:
        self._claims = {(claim.namespace, claim.name): claim for claim in claims}
        self.reads = 0
        self.away = False
        self.unreadable: set[str] = set()

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

    async def of_node(self) -> NodeClaimsRead:
        """Read all claims: all of them are of pods of this node."""
        if self.away:
            raise Unavailable("the pods of this node cannot be listed: the API server does not answer")
        readable = tuple(claim for claim in self._claims.values() if claim.name not in self.unreadable)
        unreadable = tuple(f"{c.ref} cannot be read" for c in self._claims.values() if c.name in self.unreadable)
        return NodeClaimsRead(claims=readable, unreadable=unreadable)

    def apply(self, status: ClaimStatus) -> None:
        """Take the entries of one driver, as the API server does; they are JSON from here on."""
        claim = self._claims.get((status.claim.namespace, status.claim.name))
        if claim is None or claim.uid != status.claim.uid:
            return
        entries = tuple(
            StatusEntry(
                driver=device.driver,
                pool=device.pool,
                device=device.device,
                share_id=device.share_id,
                data=json.loads(json.dumps(device.data)),
            )
            for device in status.devices
        )
        self.put(replace(claim, entries=entries))


class MemoryStatus:
    """Satisfies ``ClaimStatusSink``; ``writes`` holds all, ``errors`` are raised one by one by the next writes.

    What is written becomes part of ``claims`` where they are given.
    """

    def __init__(self, claims: MemoryClaims | None = None) -> None:
        self.writes: list[ClaimStatus] = []
        self.errors: list[Exception] = []
        self._claims = claims

    async def write(self, status: ClaimStatus) -> None:
        """Take a status, or raise the next of ``errors``."""
        if self.errors:
            raise self.errors.pop(0)
        self.writes.append(status)
        if self._claims is not None:
            self._claims.apply(status)

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
