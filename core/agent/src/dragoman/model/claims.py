"""The parts of a ResourceClaim that a node driver needs, apart from any API version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRef:
    """A claim as the kubelet names it."""

    uid: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"claim {self.namespace}/{self.name}"

    @property
    def label(self) -> str:
        """Name and UID, as every record of the log has them."""
        return f"{self.namespace}/{self.name} ({self.uid})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationResult:
    """One entry of ``status.allocation.devices.results``."""

    request: str
    driver: str
    pool: str
    device: str
    share_id: str | None = None
    consumed_capacity: Mapping[str, str] = field(default_factory=dict)
    admin_access: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueConfig:
    """One opaque entry of ``status.allocation.devices.config``; ``source`` is ``FromClass`` or ``FromClaim``.

    ``requests`` empty means all requests; entries name a request or ``request/subrequest``. ``fault``: why not all of
    the parameters could be read, so that no device may be prepared with them; "" where they were.
    """

    source: str
    driver: str
    parameters: Mapping[str, Any]
    requests: tuple[str, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """One entry of ``status.reservedFor``: ``resource`` is ``pods`` or, with workload claims, ``podgroups``."""

    resource: str
    name: str
    uid: str
    api_group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusEntry:
    """One entry of ``status.devices``; ``data`` is what its driver wrote, unchecked, or None."""

    driver: str
    pool: str
    device: str
    share_id: str | None = None
    data: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim read from the API server. ``results`` is None while it is not allocated; it holds all drivers' results.

    ``pod_claim_name`` is the annotation ``resource.kubernetes.io/pod-claim-name`` as it stands: user input, unchecked.
    ``entries`` holds all drivers' entries of ``status.devices``.
    """

    uid: str
    namespace: str
    name: str
    results: tuple[AllocationResult, ...] | None
    config: tuple[OpaqueConfig, ...] = ()
    reserved_for: tuple[Consumer, ...] = ()
    entries: tuple[StatusEntry, ...] = ()
    pod_claim_name: str | None = None
    resource_version: str = ""
    generation: int = 0

    @property
    def ref(self) -> ClaimRef:
        """How the kubelet names this claim."""
        return ClaimRef(uid=self.uid, namespace=self.namespace, name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaimsRead:
    """The claims of a node's pods. ``unreadable``: a sentence for each that exists and could not be read."""

    claims: tuple[Claim, ...] = ()
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDevice:
    """One device of the answer to prepare. ``requests`` are base names, without sub-request."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_device_ids: tuple[str, ...]
    share_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareAnswer:
    """Answer for one claim: devices, or an error text (then no devices)."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


def base_request(request: str) -> str:
    """Give the top-level request name of ``request`` or ``request/subrequest``."""
    return request.partition("/")[0]
