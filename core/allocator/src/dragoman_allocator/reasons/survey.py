"""Looks at every device of a node for every request by itself, which the scheduler's search need not do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dragoman_allocator.allocation import Allocator, Check
from dragoman_allocator.allocation.prepare import Request
from dragoman_allocator.allocation.target import claim_name
from dragoman_allocator.errors import AllocationFailed
from dragoman_allocator.objects import ClaimDevices, ClaimSpec, DeviceRequest, ExactRequest, Node, ResourceClaim
from dragoman_allocator.reasons.checking import UNWANTED, Checking
from dragoman_allocator.reasons.facts import Facts
from dragoman_allocator.reasons.model import DeviceReasons, RequestReasons


class Survey:
    """Devices of one node; ``nearest`` limits the devices that are kept for a request beside those that fit."""

    def __init__(self, allocator: Allocator, facts: Facts, node: Node, nearest: int | None = None) -> None:
        self._allocator = allocator
        self._facts = facts
        self._node = node
        self._nearest = nearest

    def of(self, claims: Iterable[ResourceClaim]) -> list[RequestReasons]:
        """Give the reasons of every request of the claims, of every subrequest where it has such."""
        return [
            self._request(claim, request, name, part)
            for claim in claims
            for request in claim.spec.devices.requests or ()
            for name, part in parts(request)
        ]

    def _request(self, claim: ResourceClaim, request: DeviceRequest, name: str, part: Request) -> RequestReasons:
        takes_all = part.allocation_mode == "All"
        devices: list[DeviceReasons] = []
        error = None
        try:
            devices.extend(self._devices(_alone(claim, request, name), part, takes_all=takes_all))
        except AllocationFailed as failure:
            error = str(failure)
        fits = sum(not each.findings for each in devices)
        missing = (_blocking(devices) or int(not fits)) if takes_all else max(0, part.count - fits)
        return RequestReasons(
            claim=claim_name(claim),
            request=name,
            device_class=part.device_class_name,
            wanted=None if takes_all else part.count,
            fits=fits,
            missing=missing,
            devices=self._near(devices, missing),
            tally=Counter(each.findings[0].check for each in devices if each.findings),
            error=error,
        )

    def _near(self, devices: Iterable[DeviceReasons], missing: int) -> list[DeviceReasons]:
        """Sort devices, and keep those that fit and as many others as are asked for or lack."""
        near = sorted(devices, key=_nearness)
        if self._nearest is None:
            return near
        others = [each for each in near if each.findings]
        return [*(each for each in near if not each.findings), *others[: max(self._nearest, missing)]]

    def _devices(self, claim: ResourceClaim, request: Request, *, takes_all: bool) -> Iterator[DeviceReasons]:
        view, plans = self._allocator.plan([claim], self._node)
        (target,) = plans[0].requests[0].targets
        checking = Checking(self._facts, self._allocator.library, view, target, takes_all=takes_all)
        for device, pool in view.candidates:
            yield DeviceReasons(device=device.id, findings=checking.findings(device, pool, request))


def parts(request: DeviceRequest) -> list[tuple[str, Request]]:
    """Give the subrequests as ``request/subrequest``, or the request itself where it has none."""
    if request.first_available:
        return [(f"{request.name}/{sub.name}", sub) for sub in request.first_available]
    return [(request.name, request.exactly or ExactRequest())]


def _alone(claim: ResourceClaim, request: DeviceRequest, name: str) -> ResourceClaim:
    """Give the claim with one device for this part of one request, and with its constraints."""
    only = {"allocation_mode": "ExactCount", "count": 1}
    if request.first_available:
        subs = [sub for sub in request.first_available if f"{request.name}/{sub.name}" == name]
        request = replace(request, first_available=[replace(subs[0], **only)])
    else:
        request = replace(request, exactly=replace(request.exactly or ExactRequest(), **only))
    # All constraints are kept, so that errors count them as the claim does: those of other requests do not apply.
    devices = ClaimDevices(requests=[request], constraints=claim.spec.devices.constraints)
    return replace(claim, spec=ClaimSpec(devices=devices))


def _blocking(devices: Iterable[DeviceReasons]) -> int:
    return sum(bool(each.findings) and each.findings[0].check not in UNWANTED for each in devices)


def _nearness(device: DeviceReasons) -> tuple[bool, int, bool, tuple[str, str, str]]:
    """Devices of other classes last; fewest failed checks first; then what is only taken before what is unwanted."""
    first = device.findings[0].check if device.findings else Check.CONSTRAINT
    return device.foreign, len(device.findings), first in UNWANTED, device.device
