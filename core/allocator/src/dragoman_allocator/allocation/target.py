"""One request, or one of its subrequests, as the search works on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dragoman_allocator.allocation.attributes import Value
from dragoman_allocator.allocation.capacity import Amounts, Demand
from dragoman_allocator.allocation.checks import Check, DeviceId, Observer
from dragoman_allocator.allocation.constraints import Constraint
from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.pools import Pool
from dragoman_allocator.allocation.selectors import Chain
from dragoman_allocator.allocation.use import DeviceUse
from dragoman_allocator.objects import DeviceClass, DeviceToleration, ResourceClaim

if TYPE_CHECKING:
    from dragoman_allocator.allocation.view import Selection

Look = Callable[[DeviceRecord], Value | None]
"""Gives what a constraint compares of a device; may raise ``AllocationFailed``."""


@dataclass(slots=True, eq=False)
class Target:
    """What is asked for; ``name`` is ``request`` or ``request/subrequest``, ``label`` the last part of it."""

    claim: int
    request: int
    claim_name: str
    name: str
    label: str
    device_class: DeviceClass
    chain: Chain
    demand: Demand
    tolerations: Sequence[DeviceToleration]
    admin: bool
    takes_all: bool
    derived: dict[str, str]
    observer: Observer | None
    needed: int = 0
    everything: list[tuple[DeviceRecord, Pool, Amounts]] = field(default_factory=list)
    constraints: list[tuple[Constraint, Look]] = field(default_factory=list)
    selection: Selection | None = None

    @property
    def class_name(self) -> str:
        """Name of the device class."""
        return self.device_class.metadata.name

    @property
    def where(self) -> str:
        """How errors begin."""
        return f"claim {self.claim_name}, request {self.label}"

    def blocked(self, use: DeviceUse) -> bool:
        """Tell whether the device is somebody else's: for admin access only this claim's own devices are."""
        return self.claim in use.marks if self.admin else bool(use.held or use.marks)

    def report(self, device: DeviceId, check: Check) -> None:
        """Tell the observer, if there is one, that the device was turned down."""
        if self.observer is not None:
            self.observer(self.claim, self.name, device, check)


@dataclass(slots=True)
class RequestPlan:
    """One request; ``targets`` are its subrequests by preference if it is ``prioritized``, else the request itself."""

    targets: list[Target]
    prioritized: bool


@dataclass(slots=True)
class ClaimPlan:
    """One claim."""

    claim: ResourceClaim
    requests: list[RequestPlan]


def claim_name(claim: ResourceClaim) -> str:
    """Give the name as errors have it: ``namespace/name``."""
    return "/".join(filter(None, (claim.metadata.namespace, claim.metadata.name)))
