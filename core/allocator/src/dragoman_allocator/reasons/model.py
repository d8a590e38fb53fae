"""Reasons as data: what was found out about devices, requests, pools and claims on one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from dragoman_allocator.allocation import Check, DeviceId
from dragoman_allocator.objects import AllocationResult
from dragoman_allocator.objects.meta import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A check that a device fails for a request. ``data`` names what stands in its way, in JSON."""

    check: Check
    text: str
    data: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReasons:
    """All checks that a device fails when nothing else of the attempt is considered, in the scheduler's order.

    The scheduler ends at the first one; none at all means that the device fits as far as it alone is concerned.
    ``refused``: what the search turned it down for nevertheless, because of devices that it had chosen before.
    """

    device: DeviceId
    findings: tuple[Finding, ...]
    refused: tuple[Check, ...] = ()

    @property
    def foreign(self) -> bool:
        """Whether it is not of the request's class, so that nothing that happens to it would help."""
        return any(each.check is Check.CLASS_SELECTOR for each in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReasons:
    """A request, or ``request/subrequest``; ``wanted`` devices, None for all that match.

    ``fits`` devices pass every check alone, ``missing`` lack for it; ``devices`` are sorted near misses first, and
    ``tally`` counts first failed checks of all devices. ``error`` ends the attempt on every node.
    """

    claim: str
    request: str
    device_class: str
    wanted: int | None
    fits: int
    missing: int
    devices: Sequence[DeviceReasons]
    tally: Mapping[Check, int]
    error: str | None = None


class Fault(StrEnum):
    """Why no device is taken from a pool."""

    INCOMPLETE = "incomplete"
    INVALID = "invalid"
    OBSOLETE = "obsolete"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFault:
    """A pool with slices for the node from which nothing can be allocated there."""

    driver: str
    pool: str
    fault: Fault
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestName:
    """A request of a claim (``namespace/name``)."""

    claim: str
    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintName:
    """A constraint of a claim by its index; ``kind`` is ``matchAttribute`` or ``distinctAttribute``.

    ``values`` gives, per request that it applies to, the values of devices that fit alone (a few of them).
    """

    claim: str
    index: int
    kind: str
    attribute: str
    values: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Requests and constraints that cannot be satisfied together on the node, though any part of them can.

    ``minimal`` is False where that was not found out within the limit of steps: then some may be left out.
    """

    requests: tuple[RequestName, ...]
    constraints: tuple[ConstraintName, ...]
    minimal: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One change after which the claims fit on the node, which was tried. ``kind`` is a word for programs."""

    kind: str
    text: str
    data: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReasons:
    """What became of the claims on a node: ``results`` where they fit, else why not.

    ``error`` ended the attempt, ``everywhere`` on all nodes. ``undecided``: the search was given up.
    """

    node: str
    results: Sequence[AllocationResult] | None = None
    steps: int = 0
    error: str | None = None
    everywhere: bool = False
    undecided: bool = False
    requests: Sequence[RequestReasons] = ()
    pools: Sequence[PoolFault] = ()
    conflict: Conflict | None = None
    remedies: Sequence[Remedy] = ()

    @property
    def distance(self) -> int:
        """How far the node is from fitting: failed checks of the nearest devices, 100 for a device that is not there.

        0 where the claims fit.
        """
        if self.results is not None:
            return 0
        by_request: dict[tuple[str, str], int] = {}
        for request in self.requests:
            key = request.claim, request.request.partition("/")[0]
            by_request[key] = min(by_request.get(key, _FAR * _FAR), _distance(request))
        return 1 + sum(by_request.values())


_FAR = 100


def _distance(request: RequestReasons) -> int:
    failed = sorted(len(each.findings) for each in request.devices if each.findings and not each.foreign)
    nearest = failed[: request.missing]
    return sum(nearest) + _FAR * (request.missing - len(nearest))
