"""What is asked about: a claim, the claim that a template would give, or a pod with all its claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from dragoman_allocator.accounting import Claims, UnusableClaim
from dragoman_allocator.objects import Metadata, Pod, ResourceClaim
from dragoman_allocator.objects.meta import OwnerReference
from dragoman_allocator.objects.pods import PodClaim, PodClaimStatus
from dragoman_allocator.validation import check
from dragoman_explain.store import Key, Store, Unusable
from dragoman_explain.world import ADMIN_LABEL, World
from dragoman_kit.manifests import Manifest

CLUSTER = "the cluster"
"""Source of objects that were read from a cluster, which the API server has checked already."""
FINISHED: Final = ("Succeeded", "Failed")
"""Phases of pods that need no claims any more: the claim controller deletes those that it made."""


@dataclass(slots=True)
class Subject:
    """``claims`` of the subject, those ``made`` for it beforehand too; ``blocked``: all that keeps it from a node.

    ``extended``: a pod that wants extended resources which devices provide (KEP-5004). ``triable``: it can be said what
    would be allocated for it, which it cannot without one of its claims or of their classes.
    """

    key: Key
    claims: list[ResourceClaim] = field(default_factory=list)
    pod: Pod | None = None
    blocked: list[str] = field(default_factory=list)
    made: list[ResourceClaim] = field(default_factory=list)
    extended: bool = False
    triable: bool = True
    notes: list[str] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether it is a pod that runs no more."""
        return self.pod is not None and self.pod.status.phase in FINISHED


def subject(world: World, store: Store, key: Key, *, new: bool) -> Subject:
    """Find a subject; claims of a ``new`` pod are made from their templates, as the claim controller will.

    Raises ``Unusable`` where there is no such object.
    """
    manifest = store.objects.get(key)
    if manifest is None:
        raise Unusable(f"{key} does not exist: give its namespace with -n, or a file")
    found = Subject(key)
    if key.kind == "Pod":
        _pod(found, world, store, new=new)
    elif key.kind == "ResourceClaimTemplate":
        found.made = [_made(world, key, Metadata(name=f"{key.name}-…", namespace=key.namespace))]
        found.blocked += _refused(found, world, key, manifest)
        _take(found, world, found.made[0])
    else:
        claim = world.claims[key]
        if claim.status.allocation is None:
            found.blocked += _refused(found, world, key, manifest)
            found.blocked += ["it is being deleted"] if claim.metadata.deletion_timestamp is not None else []
        _take(found, world, claim)
    return found


def _take(found: Subject, world: World, claim: ResourceClaim) -> None:
    """Add a claim. Without its classes the scheduler looks at no node, so it is not tried on any."""
    found.claims.append(claim)
    if claim.status.allocation is None and (faults := _without_class(claim, world)):
        found.blocked += faults
        found.triable = False


def _without_class(claim: ResourceClaim, world: World) -> list[str]:
    known = {each.metadata.name for each in world.classes}
    where = f"claim {claim.metadata.namespace}/{claim.metadata.name}"
    return [
        f"{where}, request {request}: device class {name} does not exist"
        for request, name in _classes(claim)
        if name and name not in known
    ]


def _classes(claim: ResourceClaim) -> Iterator[tuple[str, str]]:
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            yield request.name, request.exactly.device_class_name
        for sub in request.first_available or ():
            yield f"{request.name}/{sub.name}", sub.device_class_name


def _pod(found: Subject, world: World, store: Store, *, new: bool) -> None:
    pod = world.pods[found.key]
    wanted = pod.spec.resource_claims or ()
    found.extended = world.extended.wanted_by(pod)
    missing = [each for each in wanted if _is_missing(pod, each)]
    unmakable = {each.name: why for each in missing if (why := _unmakable(found, world, store, each))}
    found.made, found.pod = _generated(world, pod, [each for each in missing if each.name not in unmakable])
    claims = Claims([*world.claims.values(), *found.made])
    for each in wanted:
        if each.name in unmakable:
            found.blocked.append(unmakable[each.name])
            found.triable = False
            continue
        if each in missing and not new:
            found.blocked.append(
                f"ResourceClaim not created yet: the claim controller has made none for its claim {each.name} from "
                f"template {each.resource_claim_template_name}"
            )
        _take_of_pod(found, world, store, claims, each)


def _take_of_pod(found: Subject, world: World, store: Store, claims: Claims, wanted: PodClaim) -> None:
    try:
        claim = claims.claim(found.pod, wanted) if found.pod is not None else None
    except UnusableClaim as error:
        found.blocked.append(str(error))
        found.triable = False
        return
    if claim is None:
        return
    key = Key("ResourceClaim", claim.metadata.namespace, claim.metadata.name)
    if claim.status.allocation is None and (manifest := store.objects.get(key)) is not None:
        found.blocked += [f"claim {key.namespace}/{key.name}: {why}" for why in _refused(found, world, key, manifest)]
    _take(found, world, claim)


def _unmakable(found: Subject, world: World, store: Store, wanted: PodClaim) -> str | None:
    """Say why no claim can be made for a pod."""
    template = Key("ResourceClaimTemplate", found.key.namespace, wanted.resource_claim_template_name or "")
    if template not in world.templates:
        return f"its claim {wanted.name} cannot be made: {template} does not exist"
    refused = _refused(found, world, template, store.objects[template])
    return f"its claim {wanted.name} cannot be made from template {template.name}: {refused[0]}" if refused else None


def _is_missing(pod: Pod, wanted: PodClaim) -> bool:
    known = {status.name for status in pod.status.resource_claim_statuses or ()}
    return bool(wanted.resource_claim_template_name) and not wanted.resource_claim_name and wanted.name not in known


def _generated(world: World, pod: Pod, missing: Sequence[PodClaim]) -> tuple[list[ResourceClaim], Pod]:
    """Make the claims that the controller would make, and the pod as it would then be."""
    namespace, owner = pod.metadata.namespace, OwnerReference(uid=pod.metadata.uid, controller=True)
    claims, statuses = [], list(pod.status.resource_claim_statuses or ())
    for each in missing:
        template = Key("ResourceClaimTemplate", namespace, each.resource_claim_template_name or "")
        name = f"{pod.metadata.name}-{each.name}-…"
        metadata = Metadata(name=name, namespace=namespace, uid=f"made {name}", owner_references=[owner])
        claims.append(_made(world, template, metadata))
        statuses.append(PodClaimStatus(name=each.name, resource_claim_name=name))
    return claims, replace(pod, status=replace(pod.status, resource_claim_statuses=statuses))


def _made(world: World, template: Key, metadata: Metadata) -> ResourceClaim:
    return ResourceClaim(metadata=metadata, spec=world.templates[template].spec.spec)


def _refused(found: Subject, world: World, key: Key, manifest: Manifest) -> list[str]:
    """Say in one sentence why the API server would refuse a manifest; what a cluster holds, it has taken."""
    if manifest.source == CLUSTER:
        return []
    body = {name: value for name, value in manifest.body.items() if name != "status"}
    report = check(body, features=world.features, admin=world.admin.get(key.namespace, True))
    found.notes += [f"{manifest.source}: there is no field {path}" for path in report.unknown]
    if key.namespace not in world.admin and "adminAccess" in str(body):
        found.notes.append(
            f"admin access needs label {ADMIN_LABEL}=true of namespace {key.namespace}, which is not given"
        )
    if not report.errors:
        return []
    more = f" (and {len(report.errors) - 1} more)" if len(report.errors) > 1 else ""
    return [f"the API server refuses it: {report.errors[0]}{more}"]
