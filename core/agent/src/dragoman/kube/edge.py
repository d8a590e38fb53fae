"""The API server edge put together: one client, and what the engine needs of it."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.clock import Clock
from dragoman.kube.access import Access
from dragoman.kube.claims import ClaimReader
from dragoman.kube.client import KubeClient
from dragoman.kube.conditions import TransitionTimes
from dragoman.kube.events import EventWriter
from dragoman.kube.node_claims import NodeClaimReader
from dragoman.kube.slices import SlicePublisher
from dragoman.kube.status import StatusWriter
from dragoman.kube.versions import Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeEdge:
    """Everything that talks to the API server, over one client."""

    client: KubeClient
    versions: Versions
    claims: ClaimReader
    node_claims: NodeClaimReader
    status: StatusWriter
    slices: SlicePublisher
    events: EventWriter

    @classmethod
    def build(cls, access: Access, *, driver: str, node: str, clock: Clock) -> KubeEdge:
        """Build it; nothing works before ``client.connect``."""
        client = KubeClient(access)
        versions, times = Versions(client), TransitionTimes()
        claims = ClaimReader(client, versions, clock, times)
        return cls(
            client=client,
            versions=versions,
            claims=claims,
            node_claims=NodeClaimReader(client, claims, clock, node=node),
            status=StatusWriter(client, versions, clock, times, driver=driver),
            slices=SlicePublisher(client, versions, clock, driver=driver, node=node),
            events=EventWriter(client, clock, driver=driver, node=node),
        )

    async def close(self) -> None:
        """Close everything; what waits to be written is given up, slices stay."""
        await self.slices.aclose()
        await self.events.aclose()
        await self.client.aclose()
