"""Extended resources that devices provide (KEP-5004): the claim that the scheduler makes for a pod that wants them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from dragoman_allocator import names, quantity, times
from dragoman_allocator.accounting import footprint, lists
from dragoman_allocator.objects import (
    ClaimDevices,
    ClaimSpec,
    Container,
    DeviceClass,
    DeviceRequest,
    ExactRequest,
    Metadata,
    Node,
    Pod,
    ResourceClaim,
)

CLAIM_NAME: Final = "<extended-resources>"
"""The name of the claim until it is written."""
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
"""The extended resource that every class provides is this and its name."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


class Unfit(Exception):
    """The node does not provide a resource, in the words of the scheduler."""


class ExtendedClasses:
    """Which class provides an extended resource: of several with one name the newest, then the first by name."""

    def __init__(self, classes: Iterable[DeviceClass]) -> None:
        self._classes: dict[str, DeviceClass] = {}
        for each in classes:
            self._add(each)

    def _add(self, new: DeviceClass) -> None:
        resource = new.spec.extended_resource_name
        if resource is not None:
            if resource in self._classes and not _precedes(new, self._classes[resource]):
                return  # as in the scheduler, such a class does not provide its implicit resource either
            self._classes[resource] = new
        self._classes[IMPLICIT + new.metadata.name] = new

    def provider(self, resource: str) -> str | None:
        """Give the name of the class."""
        found = self._classes.get(resource)
        return None if found is None else found.metadata.name

    def wanted_by(self, pod: Pod) -> bool:
        """Tell whether the pod requests a resource that a class provides."""
        requests = footprint.pod_requests(pod, claims=False)
        return any(
            amount and _is_extended(name) and self.provider(name) is not None for name, amount in requests.items()
        )


def former_claim(pod: Pod, claims: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """Give the claim that an earlier attempt has left for the pod's extended resources."""
    for claim in claims:
        if (claim.metadata.annotations or {}).get(ANNOTATION) != "true":
            continue
        for owner in claim.metadata.owner_references or ():
            if owner.controller and (owner.name, owner.uid) == (pod.metadata.name, pod.metadata.uid):
                return claim
    return None


def new_claim(pod: Pod) -> ResourceClaim:
    """Give the claim for a pod, without requests: these depend on the node."""
    return ResourceClaim(
        metadata=Metadata(name=CLAIM_NAME, namespace=pod.metadata.namespace, uid=f"{CLAIM_NAME} of {pod.metadata.uid}")
    )


def claim_on_node(claim: ResourceClaim, pod: Pod, node: Node, classes: ExtendedClasses) -> tuple[ResourceClaim, bool]:
    """Give the claim with requests for what the node does not provide otherwise, and tell whether there are any.

    Raises ``Unfit`` where a resource comes from nowhere.
    """
    allocatable = lists.read(node.status.allocatable)
    resources = []
    for name, amount in footprint.pod_requests(pod, claims=False).items():
        if not _is_extended(name) or amount.units == 0:
            continue
        offered = allocatable.get(name)
        if classes.provider(name) is not None and (offered is None or offered.units == 0):
            resources.append(name)
        elif offered is None:
            raise Unfit("cannot fit resource")
    requests = _requests(pod, sorted(resources), classes)
    return replace(claim, spec=ClaimSpec(devices=ClaimDevices(requests=requests))), bool(resources)


def _requests(pod: Pod, resources: Iterable[str], classes: ExtendedClasses) -> list[DeviceRequest]:
    init, main = pod.spec.init_containers or [], pod.spec.containers or []
    containers = [*init, *main]
    is_brief = [index < len(init) and each.restart_policy != "Always" for index, each in enumerate(containers)]
    requests: list[DeviceRequest] = []
    for resource in resources:
        class_name = classes.provider(resource) or ""
        lasting = {
            index: request
            for index, container in enumerate(containers)
            if not is_brief[index] and (request := _request(index, container, resource, class_name, 0))
        }
        requests += [*_largest_brief(containers, is_brief, resource, class_name, lasting), *lasting.values()]
    return sorted(requests, key=lambda request: request.name)


def _largest_brief(
    containers: list[Container],
    is_brief: list[bool],
    resource: str,
    class_name: str,
    lasting: Mapping[int, DeviceRequest],
) -> list[DeviceRequest]:
    """Give the one request for what ordinary init containers need beyond the devices of those that run after them."""
    largest: DeviceRequest | None = None
    for index, container in enumerate(containers):
        if not is_brief[index]:
            continue
        reusable = sum(_count(request) for later, request in lasting.items() if later >= index)
        request = _request(index, container, resource, class_name, reusable)
        if request is not None and (largest is None or _count(largest) < _count(request)):
            largest = request
    return [] if largest is None else [largest]


def _request(index: int, container: Container, resource: str, class_name: str, reusable: int) -> DeviceRequest | None:
    requested = container.resources.requests or {}
    count = quantity.parse(requested[resource]).as_int64 if resource in requested else None
    if not count or (reusable and reusable >= count):
        return None
    exactly = ExactRequest(device_class_name=class_name, allocation_mode="ExactCount", count=count - reusable)
    return DeviceRequest(name=f"container-{index}-request-{sorted(requested).index(resource)}", exactly=exactly)


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly else 0


def _is_extended(name: str) -> bool:
    return name.startswith(IMPLICIT) or names.extended_resource(name)


def _precedes(new: DeviceClass, known: DeviceClass) -> bool:
    made, other = _made(new), _made(known)
    return made > other or (made == other and new.metadata.name < known.metadata.name)


def _made(device_class: DeviceClass) -> datetime:
    text = device_class.metadata.creation_timestamp
    return times.parse(text) if text else _BEGINNING
