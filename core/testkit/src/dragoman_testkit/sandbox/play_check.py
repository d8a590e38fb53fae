"""What ``dragoman sandbox apply`` refuses, as an API server would: it takes objects that the sandbox can stand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from dragoman_allocator import names, validation
from dragoman_allocator.decode import decode
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import Container, Pod
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.resources import RESOURCE_GROUP, RESOURCES, Resource


def faults(obj: JsonObject) -> Sequence[str]:
    """Say what is wrong with an object, field by field."""
    group, kind = str(obj.get("apiVersion") or "").rpartition("/")[0], obj.get("kind")
    resource = next((each for each in RESOURCES if (each.group, each.kind) == (group, kind)), None)
    if resource is None:
        return [f"the sandbox knows no such kind; it knows {', '.join(sorted(each.kind for each in RESOURCES))}"]
    if obj["apiVersion"] != resource.api_version():
        return [f"apiVersion: the sandbox takes {resource.api_version()}, not {obj['apiVersion']}"]
    metadata = obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        return ["metadata: must be an object"]
    try:
        return list(_faults({**obj, "metadata": _named(metadata, resource)}, resource))
    except InvalidInput as error:
        return [str(error)]


def named(obj: JsonObject) -> str:
    """Name an object of which nothing is known yet."""
    metadata = obj.get("metadata")
    name = (metadata.get("name") or metadata.get("generateName")) if isinstance(metadata, dict) else None
    return f"{obj.get('kind') or 'an object without kind'} {name or 'without name'}"


def _named(metadata: JsonObject, resource: Resource) -> JsonObject:
    """Give the metadata as it is once the API server has filled it."""
    made = {"name": f"{metadata['generateName']}00000"} if metadata.get("generateName") else {}
    return {**({"namespace": "default"} if resource.namespaced else {}), **made, **metadata}


def _faults(obj: JsonObject, resource: Resource) -> Iterator[str]:
    if resource.group == RESOURCE_GROUP:
        report = validation.check(obj, admin=True)  # any namespace may have admin access here
        yield from (f'unknown field "{path}"' for path in report.unknown)
        yield from map(str, report.errors)
        return
    yield from (f"metadata.name: {why}" for why in names.subdomain(str(obj["metadata"].get("name") or "")))
    if resource.kind == "Pod":
        yield from _of_pod(obj)


def _of_pod(obj: JsonObject) -> Iterator[str]:
    """Check what is read of a pod here."""
    spec = decode(Pod, obj).spec
    containers, claims = spec.containers or [], spec.resource_claims or []
    known = {claim.name for claim in claims}
    if not containers:
        yield "spec.containers: Required value"
    for index, container in enumerate(containers):
        body = obj["spec"]["containers"][index]
        others = [other.name for other in containers[:index]]
        yield from (f"spec.containers[{index}].{what}" for what in _of_container(container, body, known, others))
    for index, claim in enumerate(claims):
        yield from (f"spec.resourceClaims[{index}].name: {why}" for why in names.label(claim.name))
        if bool(claim.resource_claim_name) is bool(claim.resource_claim_template_name):
            yield f"spec.resourceClaims[{index}]: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"


def _of_container(
    container: Container, body: JsonObject, claims: Collection[str], others: Collection[str]
) -> Iterator[str]:
    yield from (f"name: {why}" for why in names.label(container.name))
    if container.name in others:
        yield f'name: Duplicate value: "{container.name}"'
    yield from (f"{key}: must be a list of texts" for key in ("command", "args") if not _is_texts(body.get(key)))
    for wanted in container.resources.claims or []:
        if wanted.name not in claims:
            yield f'resources.claims: Not found: "{wanted.name}"'


def _is_texts(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(each, str) for each in value))
