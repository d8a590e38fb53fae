"""What a request, or one of its subrequests, asks of each single device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman_allocator.allocation.capacity import Demand
from dragoman_allocator.allocation.checks import Check, DeviceId, Observer
from dragoman_allocator.allocation.selectors import Chain
from dragoman_allocator.allocation.use import DeviceUse
from dragoman_allocator.objects import DeviceClass, DeviceToleration


@dataclass(slots=True, eq=False, kw_only=True)
class Wanted:
    """What is asked for.

    ``name`` is ``request`` or ``request/subrequest``; ``of_request`` and ``label`` are the first and the last part.
    """

    claim: int
    request: int
    claim_name: str
    name: str
    of_request: str
    label: str
    device_class: DeviceClass
    chain: Chain
    demand: Demand
    tolerations: Sequence[DeviceToleration]
    admin: bool
    takes_all: bool
    derived: dict[str, str]
    observer: Observer | None

    @property
    def class_name(self) -> str:
        """Name of the device class."""
        return self.device_class.metadata.name

    @property
    def names(self) -> tuple[str, str]:
        """What constraints and configuration may call it: by its own name, or by that of the whole request."""
        return self.name, self.of_request

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
