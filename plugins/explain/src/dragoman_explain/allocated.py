"""What is said of claims that are allocated: devices, nodes, conditions that they wait for, pods that have to go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman_allocator.accounting import Claims
from dragoman_allocator.eviction import Cause, Eviction, Taints, causes, evictions
from dragoman_allocator.objects import DeviceResult, ResourceClaim
from dragoman_explain.report import Held
from dragoman_explain.scope import selector_text
from dragoman_explain.subjects import Subject
from dragoman_explain.world import World


def held(world: World, subject: Subject) -> list[Held]:
    """Describe the claims of the subject that are allocated."""
    taints = _taints(world)
    return [
        Held(
            claim=f"{claim.metadata.namespace}/{claim.metadata.name}",
            allocation=claim.status.allocation,
            nodes=selector_text(claim.status.allocation.node_selector),
            reserved_for=[f"{each.resource}/{each.name}" for each in claim.status.reserved_for or ()],
            waits=list(_waits(claim)),
            causes=causes(claim, taints) if taints is not None else (),
        )
        for claim in subject.claims
        if claim.status.allocation is not None
    ]


def evicted(world: World, subject: Subject) -> Sequence[Eviction]:
    """Give the pods that have to go because of the subject's claims, as far as the pods are known (KEP-5055)."""
    taints = _taints(world)
    if taints is None:
        return ()
    names = {claim.metadata.name for claim in subject.claims}
    found = evictions(world.pods.values(), Claims(world.claims.values()), taints)
    return [each for each in found if each.namespace == subject.key.namespace and names & _claims(each.causes)]


def _taints(world: World) -> Taints | None:
    if not world.features.on("DRADeviceTaints"):
        return None
    return Taints(world.slices, world.rules if world.features.on("DRADeviceTaintRules") else ())


def _claims(found: Sequence[Cause]) -> set[str]:
    return {cause.claim for cause in found}


def _waits(claim: ResourceClaim) -> Iterator[str]:
    for result in (claim.status.allocation.devices.results if claim.status.allocation else None) or ():
        met = _met(claim, result)
        for condition in result.binding_conditions or ():
            if condition not in met:
                yield f"{condition} of {result.driver}/{result.pool}/{result.device}"
        for condition in met.intersection(result.binding_failure_conditions or ()):
            yield f"the scheduler to take back {result.driver}/{result.pool}/{result.device}: {condition} is true"


def _met(claim: ResourceClaim, result: DeviceResult) -> set[str]:
    return {
        condition.type
        for status in claim.status.devices or ()
        if (status.driver, status.pool, status.device) == (result.driver, result.pool, result.device)
        for condition in status.conditions or ()
        if condition.status == "True"
    }
