"""What the kubelet stand-in is told, and what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.model.claims import ClaimRef

ClaimReader = Callable[[str, str], Awaitable[Mapping[str, Any] | None]]
"""Reads a ResourceClaim's JSON by namespace and name; None if there is none."""

Wipe = Callable[[str | None], Awaitable[None]]
"""Deletes the node's ResourceSlices of a driver, or with None of all drivers."""


class PrepareFailed(Exception):
    """The pod cannot start; the text is that of the event ``FailedPrepareDynamicResources``."""


class UnprepareFailed(Exception):
    """The pod stays Terminating; the kubelet tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A container and its ``resources.claims``: names of the pod's claims, each with a request or None for all."""

    name: str
    claims: Sequence[tuple[str, str | None]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """A pod and its ``spec.resourceClaims``, already resolved to ResourceClaims.

    ``group_uid``: UID of its PodGroup, for which claims may be reserved instead (gate DRAWorkloadResourceClaims).
    """

    uid: str
    namespace: str
    name: str
    claims: Sequence[tuple[str, ClaimRef]] = ()
    containers: Sequence[ContainerSpec] = ()
    group_uid: str = ""

    def claim_of(self, pod_claim_name: str) -> ClaimRef:
        """Give the claim of that name in the pod. Raises ``KeyError``."""
        return dict(self.claims)[pod_claim_name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """The kubelet's times in seconds; the defaults are its own. Deadlines of calls pass in real time."""

    reconcile: float = 1.0
    dial: float = 10.0
    get_info: float = 1.0
    notify: float = 5.0
    call: float = 45.0
    first_backoff: float = 0.5
    longest_backoff: float = 122.0
    wipe: float = 30.0
    health_retry: float = 5.0
    health_default: float = 30.0
