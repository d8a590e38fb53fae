"""Claims that nobody will unprepare any more, and frees that failed: looked after in the background."""

from __future__ import annotations

from collections.abc import Sequence

from loguru import logger

from dragoman.engine.claims import Claims
from dragoman.engine.parts import Parts
from dragoman.engine.ports import ClaimSource, PodResources
from dragoman.model.errors import ClaimNotFound, ClaimReplaced, Unavailable
from dragoman.model.plan import key_of
from dragoman.model.records import AllocationRow
from dragoman.model.states import AllocationState
from dragoman_hookspecs import DeviceError, DragomanError


class Orphans:
    """Frees the rows of a claim once its object, its sandboxes and the kubelet's entry are all gone for a while.

    A claim that has these devices no longer allocated counts as gone: rows that a lost ledger was rebuilt with may be
    of a claim that the kubelet had unprepared already. ``interval`` and ``grace`` are seconds.
    """

    def __init__(
        self,
        parts: Parts,
        claims: Claims,
        source: ClaimSource,
        pod_resources: PodResources,
        *,
        interval: float,
        grace: float,
    ) -> None:
        self._parts = parts
        self._claims = claims
        self._source = source
        self._pod_resources = pod_resources
        self._interval = interval
        self._grace = grace
        self._since: dict[str, float] = {}

    async def run(self) -> None:
        """Sweep at each interval, until cancelled."""
        while True:
            await self._parts.clock.sleep(self._interval)
            await self.sweep()

    async def sweep(self) -> None:
        """Look at every claim once."""
        by_claim: dict[str, list[AllocationRow]] = {}
        for row in self._parts.ledger.allocations():
            by_claim.setdefault(row.claim.uid, []).append(row)
        self._since = {uid: since for uid, since in self._since.items() if uid in by_claim}
        for uid, rows in by_claim.items():
            if await self._is_due(uid, rows):
                await self._free(rows)

    async def _is_due(self, uid: str, rows: Sequence[AllocationRow]) -> bool:
        if any(row.state is AllocationState.FREEING for row in rows):
            return True  # a free failed; the kubelet may have given up asking
        if not await self._is_orphan(rows):
            self._since.pop(uid, None)
            return False
        now = self._parts.clock.monotonic()
        return now - self._since.setdefault(uid, now) >= self._grace

    async def _is_orphan(self, rows: Sequence[AllocationRow]) -> bool:
        try:
            if await self._is_in_use(rows):
                return False
            return await self._claim_is_gone(rows) and not await self._kubelet_knows(rows[0])
        except (Unavailable, DeviceError):
            return False  # who cannot be asked is taken to hold the claim

    async def _is_in_use(self, rows: Sequence[AllocationRow]) -> bool:
        for row in rows:
            for attachment in self._parts.ledger.attachments_of(row.key):
                if await self._parts.links.same_netns(attachment.netns):
                    return True
        return False

    async def _claim_is_gone(self, rows: Sequence[AllocationRow]) -> bool:
        try:
            claim = await self._source.read(rows[0].claim)
        except (ClaimNotFound, ClaimReplaced):
            return True
        allocated = {key_of(claim, result) for result in claim.results or ()}
        return all(row.key not in allocated for row in rows)

    async def _kubelet_knows(self, row: AllocationRow) -> bool:
        for consumer in row.reserved_for:
            devices = await self._pod_resources.devices_of(row.claim.namespace, consumer.name)
            if any(
                (d.claim_name, d.driver, d.device) == (row.claim.name, row.key.driver, row.key.device) for d in devices
            ):
                return True
        return False

    async def _free(self, rows: Sequence[AllocationRow]) -> None:
        claim = rows[0].claim
        about = logger.bind(claim=claim.label)
        try:
            if await self._claims.let_go(rows):
                about.warning("{} was freed without being asked: nobody holds it any more", claim)
        except DragomanError as error:
            about.error("{} is not free yet: {}", claim, error)
