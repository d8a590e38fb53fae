"""The engine over one opened ledger: what an agent has while it is the active one of its node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.engine.claims import Claims, Find
from dragoman.engine.orphans import Orphans
from dragoman.engine.parts import Parts
from dragoman.engine.ports import ClaimSource, NodeClaims, PodResources
from dragoman.engine.rebuild import Rebuilding
from dragoman.engine.recovery import Recovering
from dragoman.engine.reporting import Reporting
from dragoman.engine.sandboxes import Sandboxes
from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman.model.errors import Unavailable
from dragoman.model.sandboxes import Container, Sandbox

SWEEP_EVERY, SHORTEST_SWEEP = 60.0, 1.0
"""Seconds between looks for claims that nobody will unprepare; they are nearer where the grace time is short."""


class Engine:
    """The pieces that share a ledger."""

    def __init__(
        self,
        parts: Parts,
        *,
        source: ClaimSource,
        node_claims: NodeClaims,
        find: Find,
        reporting: Reporting,
        pod_resources: PodResources,
        orphan_grace: float,
    ) -> None:
        self.parts = parts
        self.claims = Claims(parts, source, find, reporting)
        self.sandboxes = Sandboxes(parts, reporting, pod_resources)
        self.recovering = Recovering(parts)
        self.rebuilding = Rebuilding(parts, node_claims, find, self.sandboxes, self.recovering)
        sweep = min(SWEEP_EVERY, max(orphan_grace, SHORTEST_SWEEP))
        self.orphans = Orphans(parts, self.claims, source, pod_resources, interval=sweep, grace=orphan_grace)

    async def drain(self) -> None:
        """End what runs in the background, and wait for what was begun."""
        await self.sandboxes.drain()
        await self.claims.drain()


class CurrentEngine:
    """The engine of the present activation, for those who stay while engines come and go.

    Satisfies what the gate stands before (claims and sandboxes). Raises ``Unavailable`` while there is none.
    """

    def __init__(self) -> None:
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The engine. Raises ``Unavailable``."""
        if self._engine is None:
            raise Unavailable("this agent has not opened the ledger; it is starting or another agent is active")
        return self._engine

    def set(self, engine: Engine | None) -> None:
        """Use another engine from now on."""
        self._engine = engine

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare a batch."""
        return await self.engine.claims.prepare(claims)

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare a batch."""
        return await self.engine.claims.unprepare(claims)

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        """Learn all running sandboxes."""
        await self.engine.sandboxes.synchronize(sandboxes)

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Attach the pod's devices."""
        await self.engine.sandboxes.run_sandbox(sandbox, budget)

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Detach the devices of the sandbox."""
        await self.engine.sandboxes.stop_sandbox(sandbox, budget)

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Forget the sandbox."""
        await self.engine.sandboxes.remove_sandbox(sandbox, budget)

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        """Give the reason why the container must not be created yet, or None."""
        return await self.engine.sandboxes.create_container(sandbox, container)
