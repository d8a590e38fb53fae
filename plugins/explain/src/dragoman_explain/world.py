"""Objects as the allocator reads them, from a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from dragoman_allocator.accounting.extended import ExtendedClasses
from dragoman_allocator.decode import decode
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import Features
from dragoman_allocator.objects import (
    DeviceClass,
    DeviceTaintRule,
    Metadata,
    Node,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Struct,
)
from dragoman_explain.store import Key, Store, Unusable

_T = TypeVar("_T", bound=Struct)
ADMIN_LABEL = "resource.kubernetes.io/admin-access"


class _Named(Struct):
    """An object of which only metadata matters."""

    metadata: Metadata = Metadata()


@dataclass(frozen=True, slots=True)
class World:
    """What the scheduler sees. ``admin`` tells for each known namespace whether it allows admin access,
    ``extended`` which classes provide extended resources of pods."""

    features: Features
    now: datetime
    slices: list[ResourceSlice]
    classes: list[DeviceClass]
    rules: list[DeviceTaintRule]
    claims: Mapping[Key, ResourceClaim]
    templates: Mapping[Key, ResourceClaimTemplate]
    pods: Mapping[Key, Pod]
    nodes: list[Node]
    admin: Mapping[str, bool]
    extended: ExtendedClasses

    @classmethod
    def of(cls, store: Store, features: Features, now: datetime) -> World:
        """Read the objects. Raises ``Unusable``, naming the manifest."""
        slices = list(_read(store, ResourceSlice).values())
        rules = list(_read(store, DeviceTaintRule).values())
        claims, classes = _read(store, ResourceClaim), list(_read(store, DeviceClass).values())
        _check_times(slices, rules, claims)
        return cls(
            features=features,
            now=now,
            slices=slices,
            classes=classes,
            rules=rules,
            claims=claims,
            templates=_read(store, ResourceClaimTemplate),
            pods=_read(store, Pod),
            nodes=list(_read(store, Node).values()) or _nodes_of(slices),
            admin={
                key.name: (each.metadata.labels or {}).get(ADMIN_LABEL) == "true"
                for key, each in _read(store, _Named, "Namespace").items()
            },
            extended=ExtendedClasses(classes if features.on("DRAExtendedResource") else ()),
        )


def _read(store: Store, kind: type[_T], name: str = "") -> dict[Key, _T]:
    found = {}
    for key, manifest in store.of_kind(name or kind.__name__):
        metadata = manifest.body["metadata"]
        # Manifests have no UIDs, by which pods and claims know each other.
        body = {**manifest.body, "metadata": {"uid": str(key), **metadata}}
        if name:
            body.pop("kind")
        try:
            found[key] = decode(kind, body)
        except InvalidInput as error:
            raise Unusable(f"{manifest.source}: {key}: {error}") from error
    return found


def _nodes_of(slices: Iterable[ResourceSlice]) -> list[Node]:
    """Give the nodes that slices name where none are given, else one that has no name in them."""
    names = {part.spec.node_name for part in slices}
    names |= {device.node_name for part in slices for device in part.spec.devices or ()}
    return [Node(metadata=Metadata(name=name)) for name in sorted(filter(None, names)) or ["any-node"]]


def _check_times(
    slices: Iterable[ResourceSlice], rules: Iterable[DeviceTaintRule], claims: Mapping[Key, ResourceClaim]
) -> None:
    for where, text in _times(slices, rules, claims):
        try:
            aware = datetime.fromisoformat(text).tzinfo is not None
        except ValueError:
            aware = False
        if not aware:
            raise Unusable(f"{where}: {text!r} is no time: it must look like 2026-01-31T12:00:00Z")


def _times(
    slices: Iterable[ResourceSlice], rules: Iterable[DeviceTaintRule], claims: Mapping[Key, ResourceClaim]
) -> Iterator[tuple[str, str]]:
    for part in slices:
        for device in part.spec.devices or ():
            for taint in device.taints or ():
                if taint.time_added is not None:
                    yield f"ResourceSlice {part.metadata.name}, device {device.name}", taint.time_added
    for rule in rules:
        if rule.spec.taint.time_added is not None:
            yield f"DeviceTaintRule {rule.metadata.name}", rule.spec.taint.time_added
    for key, claim in claims.items():
        if claim.status.allocation is not None and claim.status.allocation.allocation_timestamp is not None:
            yield str(key), claim.status.allocation.allocation_timestamp
