"""What the API server fills in when an object is written (``timeAdded`` of taints aside, which needs a clock)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import force_setattr

from dragoman_allocator.objects import (
    ClaimSpec,
    DeviceSubRequest,
    DeviceToleration,
    ExactRequest,
    PoolStatusRequest,
    ResourceClaim,
    ResourceClaimTemplate,
    Struct,
)

POOL_STATUS_LIMIT: Final = 100


def fill(kind: type[Struct], decoded: Iterable[Any]) -> None:
    """Fill in the defaults of objects that were just decoded and nobody else knows: structs are immutable later on."""
    apply = _DEFAULTS.get(kind)
    if apply is not None:
        for struct in decoded:
            apply(struct)


def _claim(claim: ResourceClaim) -> None:
    _requests(claim.spec)
    if claim.status.allocation is not None:
        for result in claim.status.allocation.devices.results or ():
            _tolerations(result.tolerations)


def _template(template: ResourceClaimTemplate) -> None:
    _requests(template.spec.spec)


def _requests(spec: ClaimSpec) -> None:
    for request in spec.devices.requests or ():
        if request.exactly is not None:
            _request(request.exactly)
        for subrequest in request.first_available or ():
            _request(subrequest)


def _request(request: ExactRequest | DeviceSubRequest) -> None:
    if not request.allocation_mode:
        force_setattr(request, "allocation_mode", "ExactCount")
    if request.allocation_mode == "ExactCount" and request.count == 0:
        force_setattr(request, "count", 1)
    _tolerations(request.tolerations)


def _tolerations(tolerations: Iterable[DeviceToleration] | None) -> None:
    for toleration in tolerations or ():
        if not toleration.operator:
            force_setattr(toleration, "operator", "Equal")


def _pool_status_request(request: PoolStatusRequest) -> None:
    # A spec that was absent is the struct's shared default, which must not change.
    if request.spec.limit is None and request.spec.driver:
        force_setattr(request.spec, "limit", POOL_STATUS_LIMIT)


_DEFAULTS: Final[Mapping[type[Struct], Callable[[Any], None]]] = {
    ResourceClaim: _claim,
    ResourceClaimTemplate: _template,
    PoolStatusRequest: _pool_status_request,
}
