"""Kind ``podAllocatable``: a pod's way through the scheduler's plugin on one node, and what the pod is charged."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, TypeVar

from dragoman_allocator import accounting
from dragoman_allocator.accounting import Attempt, Status
from dragoman_allocator.allocation import Allocator
from dragoman_allocator.batch import patience
from dragoman_allocator.batch.allocate import cached
from dragoman_allocator.batch.line import Line
from dragoman_allocator.decode import to_json
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceClass, DeviceTaintRule, Node, Pod, ResourceClaim, ResourceSlice, Struct
from dragoman_allocator.objects.meta import JsonObject

S = TypeVar("S", bound=Struct)

NOW: Final = datetime(2100, 1, 1, tzinfo=UTC)
"""The time of every answer: a claim that waits for a device to bind and has a time stamp is late."""


def answer(line: Line) -> JsonObject:
    """Answer with what each step said, the allocations and the amounts. Raises ``InvalidInput``."""
    give_up = patience.until(patience.SECONDS)
    features = Features.of(line.get("gates"))
    claims = line.objects("claims", ResourceClaim)
    everything = cached([*claims, *line.objects("allocatedClaims", ResourceClaim)])
    classes = line.objects("classes", DeviceClass)
    slices = line.objects("slices", ResourceSlice)
    rules = line.objects("taintRules", DeviceTaintRule)
    cluster = accounting.Cluster(
        claims=accounting.Claims(everything),
        classes=classes,
        slices=slices,
        allocator=Allocator(slices, classes, rules, everything, features),
        features=features,
        now=NOW,
    )
    pod = accounting.complete(_given(line, "pod", Pod))
    pods = [accounting.complete(each) for each in line.objects("pods", Pod)]
    attempt = cluster.try_pod(pod, _given(line, "node", Node), pods, give_up=give_up)
    return _steps(attempt) | _taken(attempt, claims) | _amounts(attempt, pod, features)


def _given(line: Line, name: str, kind: type[S]) -> S:
    value = line.object(name, kind)
    if value is None:
        raise InvalidInput(f"{name} is missing")
    return value


def _steps(attempt: Attempt) -> JsonObject:
    steps = {"preFilter": attempt.pre_filter, "filter": attempt.filter, "reserve": attempt.reserve}
    return {name: _said(status) for name, status in steps.items()}


def _said(status: Status | None) -> JsonObject | None:
    return None if status is None else {"code": status.code.value, "reasons": list(status.reasons)}


def _taken(attempt: Attempt, claims: list[ResourceClaim]) -> JsonObject:
    found = [attempt.allocations.get(claim.metadata.uid) for claim in claims]
    return {"allocations": [None if each is None else to_json(each) for each in found]}


def _amounts(attempt: Attempt, pod: Pod, features: Features) -> JsonObject:
    counted = features.on("DRANodeAllocatableResources")
    charged = accounting.charged(pod, attempt.statuses)
    containers = [*(pod.spec.init_containers or ()), *(pod.spec.containers or ())]
    return {
        "nodeAllocatableResourceClaimStatuses": None
        if attempt.statuses is None
        else [to_json(each) for each in attempt.statuses],
        "podRequests": accounting.texts(accounting.pod_requests(charged, claims=counted)),
        "podLimits": accounting.texts(accounting.pod_limits(charged, claims=counted)),
        "containers": {
            each.name: accounting.texts(accounting.container_claims(charged, each.name)) for each in containers
        },
    }
