"""Which claims a pod has: by name or by template, as the scheduler looks them up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman_allocator.errors import AllocatorError
from dragoman_allocator.objects import Pod, ResourceClaim
from dragoman_allocator.objects.pods import PodClaim


class UnusableClaim(AllocatorError):
    """A claim of a pod is missing, going away or somebody else's."""


class Claims:
    """Claims of the cluster by namespace and name."""

    def __init__(self, claims: Iterable[ResourceClaim]) -> None:
        self._claims = {(claim.metadata.namespace, claim.metadata.name): claim for claim in claims}

    def __iter__(self) -> Iterator[ResourceClaim]:
        return iter(self._claims.values())

    def of_pod(self, pod: Pod) -> list[tuple[str, ResourceClaim]]:
        """Give the pod's names for its claims, with the claims; one that no claim was needed for is left out.

        Raises ``UnusableClaim`` for the first that the pod cannot have.
        """
        return [
            (each.name, claim)
            for each in pod.spec.resource_claims or ()
            if (claim := self.claim(pod, each)) is not None
        ]

    def claim(self, pod: Pod, wanted: PodClaim) -> ResourceClaim | None:
        """Give one claim of ``spec.resourceClaims``; None where none was needed. Raises ``UnusableClaim``."""
        name = _claim_name(pod, wanted)
        if name is None:
            return None
        namespace = pod.metadata.namespace
        claim = self._claims.get((namespace, name))
        if claim is None:
            raise UnusableClaim(f'could not find ResourceClaim "{namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise UnusableClaim(f'resourceclaim "{name}" is being deleted')
        if wanted.resource_claim_name is None:
            _check_owner(pod, claim)
        return claim

    def reserved_for(self, pod: Pod) -> list[ResourceClaim]:
        """Give the claims that a running pod uses, each once: also those being deleted, which stay until it ends.

        The claim for extended resources is one of them, as for the eviction controller since 1.37.
        """
        found: dict[str, ResourceClaim] = {}
        for name, generated in _names_in_use(pod):
            claim = self._claims.get((pod.metadata.namespace, name))
            if claim is None or (generated and not _is_owner(pod, claim)):
                continue
            if any(user.uid == pod.metadata.uid for user in claim.status.reserved_for or ()):
                found[name] = claim
        return list(found.values())


def _claim_name(pod: Pod, wanted: PodClaim) -> str | None:
    where = f'pod "{pod.metadata.namespace}/{pod.metadata.name}"'
    if wanted.resource_claim_name is not None:
        return wanted.resource_claim_name
    if wanted.resource_claim_template_name is None:
        raise UnusableClaim(f'{where}, spec.resourceClaim "{wanted.name}": none of the supported fields are set')
    for status in pod.status.resource_claim_statuses or ():
        if status.name == wanted.name:
            return status.resource_claim_name
    raise UnusableClaim(f"{where}: ResourceClaim not created yet")


def _names_in_use(pod: Pod) -> Iterator[tuple[str, bool]]:
    """Give names of claims, and whether they were made for this pod; what cannot be named yet is not in use."""
    for wanted in pod.spec.resource_claims or ():
        try:
            name = _claim_name(pod, wanted)
        except UnusableClaim:
            continue
        if name is not None:
            yield name, wanted.resource_claim_name is None
    extended = pod.status.extended_resource_claim_status
    if extended is not None and extended.resource_claim_name:
        yield extended.resource_claim_name, True


def _is_owner(pod: Pod, claim: ResourceClaim) -> bool:
    owners = claim.metadata.owner_references or ()
    return next((owner.uid for owner in owners if owner.controller), None) == pod.metadata.uid


def _check_owner(pod: Pod, claim: ResourceClaim) -> None:
    if not _is_owner(pod, claim):
        raise UnusableClaim(
            f"ResourceClaim {claim.metadata.namespace}/{claim.metadata.name} was not created for Pod "
            f"{pod.metadata.namespace}/{pod.metadata.name} (Pod is not owner)"
        )
