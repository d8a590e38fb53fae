"""Kind ``poolstatus``: the status that a controller writes to a ResourcePoolStatusRequest, or why it writes none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import msgspec

from dragoman_allocator.batch.line import Line
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceTaintRule, PoolStatusRequest
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.objects.requests import PoolStatusRequestStatus
from dragoman_allocator.pool_status import LeanClaim, LeanSlice, PoolIncomplete, pool_status

NOW: Final = "2000-01-01T00:00:00Z"
"""The time in every answer, so that answers can be compared."""


@dataclass(frozen=True, slots=True)
class World:
    """The members of a line. Slices and claims are lean: tens of megabytes of them are usual."""

    slices: list[LeanSlice]
    claims: list[LeanClaim]
    rules: list[DeviceTaintRule]
    request: PoolStatusRequest
    features: Features

    @classmethod
    def of(cls, line: Line) -> Self:
        """Read a line. Raises ``InvalidInput``."""
        return cls(
            slices=line.typed("slices", list[LeanSlice], []),
            claims=line.typed("claims", list[LeanClaim], []),
            rules=line.typed("taintRules", list[DeviceTaintRule], []),
            request=line.typed("request", PoolStatusRequest, PoolStatusRequest()),
            features=Features.of(line.get("gates")),
        )

    def status(self) -> PoolStatusRequestStatus:
        """Answer the request; one that has a status keeps it. Raises ``PoolIncomplete`` and ``InvalidInput``."""
        if self.request.status is not None:
            return self.request.status
        return pool_status(self.slices, self.claims, self.rules, self.request, self.features, NOW)


def answer(line: Line) -> JsonObject:
    """Answer with ``status``; it is null, and ``error`` says why, where a pool stays incomplete."""
    try:
        status: Any = World.of(line).status()
    except PoolIncomplete as incomplete:
        return {"status": None, "error": str(incomplete)}
    return {"status": msgspec.to_builtins(status)}
