"""What is read of a cluster or of manifests."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman_allocator.objects import DeviceTaintRule, ResourceClaim
from dragoman_allocator.pool_status import LeanClaim, LeanSlice


@dataclass(slots=True)
class Objects:
    """Claims are whole where it is asked who holds devices, else lean."""

    slices: list[LeanSlice] = field(default_factory=list)
    whole_claims: list[ResourceClaim] = field(default_factory=list)
    lean_claims: list[LeanClaim] = field(default_factory=list)
    rules: list[DeviceTaintRule] = field(default_factory=list)

    @property
    def claims(self) -> list[ResourceClaim | LeanClaim]:
        """All claims."""
        return [*self.whole_claims, *self.lean_claims]
