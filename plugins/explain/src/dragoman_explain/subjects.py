"""What is asked about: a claim, the claim that a template would give, or a pod with all its claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Subject:
    """``claims`` of the subject, those ``made`` for it beforehand too; ``blocked``: why nothing is allocated yet.

    ``extended``: a pod that wants extended resources which devices provide (KEP-5004).
    """

    key: Key
    claims: list[ResourceClaim] = field(default_factory=list)
    pod: Pod | None = None
    blocked: str | None = None
    made: list[ResourceClaim] = field(default_factory=list)
    extended: bool = False
    notes: list[str] = field(default_factory=list)


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
        found.blocked = _refused(found, world, key, manifest)
        found.claims = found.made = [_made(world, key, Metadata(name=f"{key.name}-…", namespace=key.namespace))]
    else:
        found.claims = [world.claims[key]]
        if found.claims[0].status.allocation is None:
            found.blocked = _refused(found, world, key, manifest)
            if found.claims[0].metadata.deletion_timestamp is not None:
                found.blocked = "it is being deleted"
    return found


def _pod(found: Subject, world: World, store: Store, *, new: bool) -> None:
    found.pod = pod = world.pods[found.key]
    found.extended = world.extended.wanted_by(pod)
    missing = [each for each in pod.spec.resource_claims or () if _is_missing(pod, each)]
    for each in missing:
        template = Key("ResourceClaimTemplate", found.key.namespace, each.resource_claim_template_name or "")
        if template not in world.templates:
            found.blocked = f"its claim {each.name} cannot be made: {template} does not exist"
            return
        refused = _refused(found, world, template, store.objects[template])
        if refused is not None:
            found.blocked = f"its claim {each.name} cannot be made from template {template.name}: {refused}"
            return
    if missing:
        found.made, found.pod = _generated(world, pod, missing)
        if not new:
            name, template_name = missing[0].name, missing[0].resource_claim_template_name
            found.blocked = (
                f"ResourceClaim not created yet: the claim controller has made none for its claim {name} from "
                f"template {template_name}"
            )
    try:
        found.claims = [claim for _, claim in Claims([*world.claims.values(), *found.made]).of_pod(found.pod)]
    except UnusableClaim as error:
        found.blocked = str(error)


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


def _refused(found: Subject, world: World, key: Key, manifest: Manifest) -> str | None:
    """Say why the API server would refuse a manifest; what a cluster holds, it has taken."""
    if manifest.source == CLUSTER:
        return None
    body = {name: value for name, value in manifest.body.items() if name != "status"}
    report = check(body, features=world.features, admin=world.admin.get(key.namespace, True))
    found.notes += [f"{manifest.source}: there is no field {path}" for path in report.unknown]
    if key.namespace not in world.admin and "adminAccess" in str(body):
        found.notes.append(
            f"admin access needs label {ADMIN_LABEL}=true of namespace {key.namespace}, which is not given"
        )
    if not report.errors:
        return None
    more = f" (and {len(report.errors) - 1} more)" if len(report.errors) > 1 else ""
    return f"the API server refuses it: {report.errors[0]}{more}"
