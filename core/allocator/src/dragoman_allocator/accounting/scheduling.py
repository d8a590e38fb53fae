"""A pod's way through the scheduler's DynamicResources plugin on one node: PreFilter, Filter, Reserve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from dragoman_allocator.accounting import fits, footprint
from dragoman_allocator.accounting.binding import binding_is_lost
from dragoman_allocator.accounting.charges import AllocatedClaim, UnknownCharge, charged, charges, contributes
from dragoman_allocator.accounting.devices import Devices
from dragoman_allocator.accounting.extended import ExtendedClasses, Unfit, claim_on_node, former_claim, new_claim
from dragoman_allocator.accounting.pods import Claims, UnusableClaim
from dragoman_allocator.allocation import Allocator, node_selectors
from dragoman_allocator.allocation.node_match import selector_matches
from dragoman_allocator.errors import AllocationFailed, FailedOnNode, TooManySteps
from dragoman_allocator.features import Features
from dragoman_allocator.objects import (
    AllocationResult,
    DeviceClass,
    DeviceRequest,
    Node,
    Pod,
    ResourceClaim,
    ResourceSlice,
)
from dragoman_allocator.objects.pods import NodeAllocatableClaimStatus


class Code(StrEnum):
    """The scheduler's status codes that this plugin gives."""

    SUCCESS = "Success"
    SKIP = "Skip"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class Status:
    """What a step said."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether the pod goes on to the next step."""
        return self.code is Code.SUCCESS


@dataclass(slots=True)
class Attempt:
    """What became of a pod on a node; steps that were not reached are None.

    ``allocations``: by UID of the claim, what Reserve took. ``statuses``: what the pod's status would list, None where
    nothing was found out.
    """

    pre_filter: Status
    filter: Status | None = None
    reserve: Status | None = None
    allocations: dict[str, AllocationResult] = field(default_factory=dict)
    statuses: list[NodeAllocatableClaimStatus] | None = None


class _Stopped(Exception):
    """A step ends with a status."""

    def __init__(self, code: Code, *reasons: str) -> None:
        super().__init__(*reasons)
        self.status = Status(code, reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What the scheduler knows. ``allocator`` has counted the allocations of ``claims``."""

    claims: Claims
    classes: Sequence[DeviceClass]
    slices: Sequence[ResourceSlice]
    allocator: Allocator
    features: Features
    now: datetime

    def try_pod(
        self, pod: Pod, node: Node, pods: Sequence[Pod] = (), *, give_up: Callable[[], bool] | None = None
    ) -> Attempt:
        """Try a pod on a node that runs ``pods``; ``give_up`` is that of ``Allocator.allocate``."""
        return _Trial(self, pod, node, pods, give_up).run()


class _Trial:
    def __init__(
        self, cluster: Cluster, pod: Pod, node: Node, pods: Sequence[Pod], give_up: Callable[[], bool] | None
    ) -> None:
        self._cluster = cluster
        self._pod = pod
        self._node = node
        self._pods = pods
        self._give_up = give_up
        self._accounts = cluster.features.on("DRANodeAllocatableResources")
        self._class_names = {each.metadata.name for each in cluster.classes}
        self._extended = ExtendedClasses(cluster.classes if cluster.features.on("DRAExtendedResource") else ())
        self._special: ResourceClaim | None = None
        self._claims: list[tuple[str, ResourceClaim]] = []
        self._wanted: list[ResourceClaim] = []
        self._found: dict[str, AllocationResult] = {}
        self._taken: dict[str, AllocationResult] = {}
        self._statuses: list[NodeAllocatableClaimStatus] | None = None

    def run(self) -> Attempt:
        attempt = Attempt(self._said(self._pre_filter))
        if attempt.pre_filter.good:
            attempt.filter = self._said(self._filter)
            if attempt.filter.good:
                attempt.reserve = Status()
                attempt.allocations = self._taken
                attempt.statuses = self._statuses
        return attempt

    @staticmethod
    def _said(step: Callable[[], None]) -> Status:
        try:
            step()
        except _Stopped as stopped:
            return stopped.status
        return Status()

    def _pre_filter(self) -> None:
        try:
            self._claims = self._cluster.claims.of_pod(self._pod)
        except UnusableClaim as error:
            raise _Stopped(Code.UNRESOLVABLE, str(error)) from error
        if self._extended.wanted_by(self._pod):
            self._special = former_claim(self._pod, self._cluster.claims) or new_claim(self._pod)
        if not self._claims and self._special is None:
            raise _Stopped(Code.SKIP)
        self._wanted = [claim for _, claim in self._claims if claim.status.allocation is None]
        for _, claim in self._claims:
            self._check_claim(claim)

    def _check_claim(self, claim: ResourceClaim) -> None:
        if claim.status.allocation is None:
            for request in claim.spec.devices.requests or ():
                self._check_classes(claim, request)
        elif (selector := claim.status.allocation.node_selector) and (fault := node_selectors.problem(selector)):
            raise _Stopped(Code.ERROR, fault)

    def _check_classes(self, claim: ResourceClaim, request: DeviceRequest) -> None:
        if request.exactly is not None:
            self._check_class(request.name, request.exactly.device_class_name)
        elif not request.first_available:
            raise _Stopped(Code.UNRESOLVABLE, f"{_about(claim, request)}: unknown request type")
        elif not self._cluster.features.on("DRAPrioritizedList"):
            why = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise _Stopped(Code.UNRESOLVABLE, f"{_about(claim, request)}: {why}")
        else:
            for sub in request.first_available:
                self._check_class(f"{request.name}/{sub.name}", sub.device_class_name)

    def _check_class(self, request: str, name: str) -> None:
        if not name:
            raise _Stopped(Code.ERROR, f"request {request}: unsupported request type")
        if name not in self._class_names:
            raise _Stopped(Code.UNRESOLVABLE, f"request {request}: device class {name} does not exist")

    def _filter(self) -> None:
        if not self._take_extended() and not self._claims:
            return
        unavailable = [self._is_unavailable(claim) for _, claim in self._claims]
        if self._wanted:
            self._allocate()
        if self._accounts:
            self._account()
        if any(unavailable):
            raise _Stopped(Code.UNRESOLVABLE, "resourceclaim not available on the node")

    def _take_extended(self) -> bool:
        """Add the claim for what the node provides as devices; tell whether there is one to allocate."""
        special = self._special
        if special is None:
            return False
        if special.spec.devices.requests is not None:
            raise _Stopped(Code.UNRESOLVABLE, "cannot schedule extended resource claim")
        try:
            claim, is_needed = claim_on_node(special, self._pod, self._node, self._extended)
        except Unfit as error:
            raise _Stopped(Code.UNRESOLVABLE, str(error)) from error
        if self._claims or is_needed:
            self._wanted.append(claim)
            return True
        return False

    def _is_unavailable(self, claim: ResourceClaim) -> bool:
        """Tell whether an allocated claim cannot be used on this node; a mapped one in use elsewhere ends the step."""
        allocation = claim.status.allocation
        if allocation is None:
            return False
        selector = allocation.node_selector
        if selector is not None and not selector_matches(selector, self._node):
            return True
        if _skips_operations(allocation) and "DRAOptionalNodeOperations" not in (
            self._node.status.declared_features or ()
        ):
            return True
        features = self._cluster.features
        conditions = features.on("DRADeviceBindingConditions") and features.on("DRAResourceClaimDeviceStatus")
        lost = conditions and binding_is_lost(claim, self._cluster.now)
        if self._accounts:
            self._refuse_sharing(claim, allocation)
        return lost

    def _refuse_sharing(self, claim: ResourceClaim, allocation: AllocationResult) -> None:
        reserved = claim.status.reserved_for or ()
        if not reserved or any(consumer.uid == self._pod.metadata.uid for consumer in reserved):
            return
        if contributes(allocation.devices.results or (), Devices(self._cluster.slices), mapped=True):
            raise _Stopped(
                Code.UNRESOLVABLE,
                f"node allocatable resource claim {claim.metadata.name} has a mapped device and cannot be shared "
                "across pods",
            )

    def _allocate(self) -> None:
        try:
            results = self._cluster.allocator.allocate(self._wanted, self._node, give_up=self._give_up).results
        except TooManySteps as error:
            why = f"node {self._node.metadata.name}: timed out trying to allocate devices"
            raise _Stopped(Code.ERROR, why) from error
        except FailedOnNode as error:
            raise _Stopped(Code.UNRESOLVABLE, str(error)) from error
        except AllocationFailed as error:
            raise _Stopped(Code.ERROR, str(error)) from error
        if results is None:
            raise _Stopped(Code.UNRESOLVABLE, "cannot allocate all claims")
        for claim, result in zip(self._wanted, results, strict=True):
            # A pod may name one claim twice: the scheduler takes the first allocation, and charges for the last.
            self._taken.setdefault(claim.metadata.uid, result)
            self._found[claim.metadata.uid] = result

    def _account(self) -> None:
        devices = Devices(self._cluster.slices, self._node)
        claims = self._allocated()
        if not any(contributes(claim.results, devices) for claim in claims):
            return
        try:
            statuses = charges(self._pod, claims, devices)
        except UnknownCharge as error:
            raise _Stopped(Code.ERROR, str(error)) from error
        pod = charged(self._pod, statuses)
        needed = footprint.pod_requests(pod, claims=True)
        if fault := fits.budget_fault(pod):
            raise _Stopped(Code.UNRESOLVABLE, fault)
        missing, hopeless = fits.shortages(self._node, self._pods, needed, claims=True)
        if missing:
            raise _Stopped(Code.UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE, *missing)
        self._statuses = statuses if statuses or self._wanted else None

    def _allocated(self) -> list[AllocatedClaim]:
        names: dict[str, list[str]] = {}
        claims: dict[str, ResourceClaim] = {}
        for name, claim in self._claims:
            names.setdefault(claim.metadata.uid, []).append(name)
            claims[claim.metadata.uid] = claim
        for claim in self._wanted:
            claims.setdefault(claim.metadata.uid, claim)
        return [
            AllocatedClaim(claim, self._found.get(uid, claim.status.allocation), names.get(uid, ()))
            for uid, claim in claims.items()
        ]


def _about(claim: ResourceClaim, request: DeviceRequest) -> str:
    return f"resource claim {claim.metadata.namespace}/{claim.metadata.name}, request {request.name}"


def _skips_operations(allocation: AllocationResult) -> bool:
    return any(result.skip_node_operations for result in allocation.devices.results or ())
