"""What the kubelet edge asks of the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman_hookspecs import HealthReport


class ClaimService(Protocol):
    """Prepares and unprepares claims. Neither raises: every claim gets its own answer."""

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare a batch; exactly one answer for each UID."""

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare a batch; UID to error text, "" for success."""


class HealthSource(Protocol):
    """Health of all published devices of the node."""

    def watch(self) -> AsyncIterator[Sequence[HealthReport]]:
        """Yield a complete list at once, on each (debounced) change, and in time before the shortest time-out.

        A report that has grown older than its time-out is not yielded again as healthy: its device is unknown.
        """
