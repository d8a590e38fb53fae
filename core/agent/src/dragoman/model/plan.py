"""From a claim to what this node has to do: which devices, of which managers, with which parameters.

Nothing here touches the node; everything that can be refused without looking at hardware is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.model.claims import AllocationResult, Claim
from dragoman.model.parameters import Kind, effective
from dragoman.model.records import AllocationKey, AllocationRow
from dragoman_hookspecs import Allocation, Device, DragomanError, InvalidConfig, JsonObject, Parameters


class UnusableClaim(DragomanError):
    """The claim cannot be prepared as it stands."""


class DeviceHeld(DragomanError):
    """A device of the claim is held by another prepared claim; ``holder`` names it."""

    def __init__(self, message: str, holder: AllocationRow) -> None:
        super().__init__(message)
        self.holder = holder


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the inventory knows of an advertised device."""

    device: Device
    kind: Kind
    distribution: str
    version: str
    logical_pool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One device to prepare."""

    key: AllocationKey
    position: int
    known: Known
    allocation: Allocation
    parameters_json: JsonObject


def own_results(claim: Claim, driver: str) -> list[AllocationResult]:
    """Give this driver's results. Raises ``UnusableClaim`` where the claim is not allocated."""
    if claim.results is None:
        raise UnusableClaim(f"{claim.ref} is not allocated; the kubelet will ask again once it is")
    return [result for result in claim.results if result.driver == driver]


def key_of(claim: Claim, result: AllocationResult) -> AllocationKey:
    """Give the ledger's key for a result."""
    return AllocationKey(
        claim_uid=claim.uid,
        request=result.request,
        driver=result.driver,
        pool=result.pool,
        device=result.device,
        share_id=result.share_id or "",
    )


def plan_claim(claim: Claim, driver: str, pool: str, find: Callable[[str], Known | None]) -> list[Planned]:
    """Plan the devices of a claim in the order of its allocation.

    Raises ``UnusableClaim`` naming a device that this node does not have, or ``InvalidConfig`` naming the fields.
    """
    results = own_results(claim, driver)
    known = [_find(claim, result, pool, find) for result in results]
    kinds = [each.kind for each in known]
    return [
        _plan(claim, position, result, each, [kind for kind in kinds if kind.type != each.kind.type])
        for position, (result, each) in enumerate(zip(results, known, strict=True))
    ]


def _find(claim: Claim, result: AllocationResult, pool: str, find: Callable[[str], Known | None]) -> Known:
    known = find(result.device) if result.pool == pool else None
    if known is None:
        raise UnusableClaim(
            f"device {result.device} of pool {result.pool}, allocated to {claim.ref}, is not on this node "
            f"(pool {pool}), or its device manager is not running; see 'dragoman devices' and 'dragoman plugins'"
        )
    return known


def _plan(claim: Claim, position: int, result: AllocationResult, known: Known, others: Sequence[Kind]) -> Planned:
    values: JsonObject = {}
    parameters = Parameters()
    if not result.admin_access:  # nothing is set up for admin access, so there is nothing to configure
        try:
            values, parameters = effective(claim.config, result.driver, result.request, known.kind, others)
        except InvalidConfig as error:
            raise _named(error, claim, result) from None
    allocation = Allocation(
        claim_uid=claim.uid,
        claim_namespace=claim.namespace,
        claim_name=claim.name,
        request=result.request,
        pool=result.pool,
        device=known.device,
        share_id=result.share_id,
        consumed_capacity=result.consumed_capacity,
        parameters=parameters,
        admin_access=result.admin_access,
    )
    return Planned(
        key=key_of(claim, result), position=position, known=known, allocation=allocation, parameters_json=values
    )


def _named(error: InvalidConfig, claim: Claim, result: AllocationResult) -> UnusableClaim:
    return UnusableClaim(
        f"the parameters of request {result.request} of {claim.ref} do not fit device {result.device}: {error}"
    )


def check_held(planned: Planned, others: Sequence[AllocationRow]) -> None:
    """Refuse a device that another claim holds. Raises ``DeviceHeld``.

    Legitimate overlaps are admin access and other shares of the same device. A share and a dedicated allocation of one
    device exclude each other, whatever the device's present sharing flag says.
    """
    for row in others:
        if row.key.claim_uid == planned.key.claim_uid or row.admin_access or planned.allocation.admin_access:
            continue
        both_shares = row.key.share_id and planned.key.share_id
        if not (both_shares and row.key.share_id != planned.key.share_id):
            raise DeviceHeld(
                f"device {planned.key.device} is still held by {row.claim} (uid {row.claim.uid}, {row.state}); "
                "it is prepared once that claim is unprepared",
                row,
            )
