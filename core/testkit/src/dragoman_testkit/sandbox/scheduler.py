"""The scheduler of the sandbox's one node: the allocator library over what the API server holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from dragoman_allocator.allocation import Allocator, Check, DeviceId
from dragoman_allocator.decode import decode, to_json
from dragoman_allocator.errors import AllocationFailed, InvalidInput
from dragoman_allocator.objects import (
    DeviceClass,
    Metadata,
    Node,
    ResourceClaim,
    ResourceSlice,
    Struct,
)
from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_testkit.sandbox.apiserver import ApiFault, ApiServer

T = TypeVar("T", bound=Struct)


class Unschedulable(DragomanError):
    """The pod cannot run on this node now."""


class Scheduler:
    """Allocates the claims of pods and reserves them."""

    def __init__(self, api: ApiServer, node_name: str) -> None:
        self._api = api
        self._node = node_name

    def schedule(self, pod: JsonObject, claims: Sequence[JsonObject]) -> None:
        """Allocate and reserve the claims for the pod: all of them, or none. Raises ``Unschedulable``."""
        allocations = iter(self._allocations([claim for claim in claims if not _allocation(claim)]))
        chosen = [(claim, _allocation(claim) or next(allocations)) for claim in claims]
        consumer = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        for claim, allocation in chosen:
            status = dict(claim.get("status") or {})
            reserved = list(status.get("reservedFor") or ())
            if all(other["uid"] != consumer["uid"] for other in reserved):
                reserved.append(consumer)
            self._api.update_status({**claim, "status": {**status, "allocation": allocation, "reservedFor": reserved}})

    def _allocations(self, wanted: Sequence[JsonObject]) -> list[JsonObject]:
        if not wanted:
            return []
        why = _Why([f"claim {claim['metadata']['namespace']}/{claim['metadata']['name']}" for claim in wanted])
        try:
            outcome = self._allocator().allocate([decode(ResourceClaim, claim) for claim in wanted], self._this(), why)
        except (AllocationFailed, InvalidInput) as error:
            named = str(error).startswith(tuple(why.claims))
            raise Unschedulable(str(error) if named else f"{', '.join(why.claims)}: {error}") from error
        if outcome.results is None:
            raise Unschedulable(str(why))
        return [to_json(result) for result in outcome.results]

    def _allocator(self) -> Allocator:
        return Allocator(
            self._all("resourceslices", ResourceSlice),
            self._all("deviceclasses", DeviceClass),
            allocated_claims=self._all("resourceclaims", ResourceClaim),
        )

    def _all(self, resource: str, kind: type[T]) -> list[T]:
        return [decode(kind, each) for each in self._api.list(resource)]

    def _this(self) -> Node:
        try:
            return decode(Node, self._api.get("nodes", self._node))
        except ApiFault:
            return Node(metadata=Metadata(name=self._node))


@dataclass(slots=True)
class _Why:
    """Counts, for each request, the devices by the check that turned them down last."""

    claims: Sequence[str]
    _turned_down: dict[tuple[int, str], dict[DeviceId, Check]] = field(default_factory=dict)

    def __call__(self, claim: int, request: str, device: DeviceId, check: Check) -> None:
        self._turned_down.setdefault((claim, request), {})[device] = check

    def __str__(self) -> str:
        told = [
            f"{self.claims[claim]}: request {request}: {len(devices)} device(s) cannot be had ({_counted(devices)})"
            for (claim, request), devices in sorted(self._turned_down.items())
        ]
        return "; ".join(told) or f"{', '.join(self.claims)}: this node has no device, or its pools are not complete"


def _counted(devices: dict[DeviceId, Check]) -> str:
    return ", ".join(f"{check.value}: {count}" for check, count in Counter(devices.values()).most_common())


def _allocation(claim: JsonObject) -> JsonObject | None:
    allocation: JsonObject | None = (claim.get("status") or {}).get("allocation")
    return allocation
