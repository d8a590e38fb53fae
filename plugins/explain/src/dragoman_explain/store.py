"""The objects of a cluster or of manifests as JSON, which can be added to and taken from before they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_kit.manifests import Manifest

GROUP: Final = "resource.k8s.io"
NAMESPACED: Final = frozenset({"ResourceClaim", "ResourceClaimTemplate", "Pod"})
KINDS: Final = NAMESPACED | {"ResourceSlice", "DeviceClass", "DeviceTaintRule", "Node", "Namespace"}


class Unusable(DragomanError):
    """An object cannot be used, or a name means nothing."""


class Misused(Unusable):
    """A word of the command line that means nothing, whatever the cluster has."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What an object is called; ``namespace`` is empty where the kind has none."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(slots=True)
class Store:
    """Objects by key; other kinds than those that matter are left aside."""

    objects: dict[Key, Manifest] = field(default_factory=dict)

    def add(self, manifest: Manifest, namespace: str) -> Key | None:
        """Add or replace an object, of this ``namespace`` if it names none; None where its kind does not matter.

        Raises ``Unusable``.
        """
        key = key_of(manifest, namespace)
        if key is not None:
            self.objects[key] = Manifest(manifest.source, _placed(manifest.body, key))
        return key

    def copy(self) -> Store:
        """Give another one with the same objects."""
        return Store(dict(self.objects))

    def of_kind(self, kind: str) -> Iterator[tuple[Key, Manifest]]:
        """Give the objects of a kind."""
        return ((key, each) for key, each in self.objects.items() if key.kind == kind)

    def remove(self, key: Key) -> None:
        """Remove an object, and what goes with a pod: claims made for it, and its reservations.

        A claim that nobody else reserves is deallocated, as the claim controller does. Raises ``Unusable``.
        """
        if key not in self.objects:
            raise Unusable(f"{key} does not exist, so it cannot be left out")
        uid = _metadata(self.objects.pop(key).body).get("uid")
        if key.kind == "Pod" and uid:
            for claim, manifest in list(self.of_kind("ResourceClaim")):
                self._release(claim, manifest, uid)

    def _release(self, key: Key, manifest: Manifest, uid: str) -> None:
        owners = _metadata(manifest.body).get("ownerReferences")
        if any(owner.get("uid") == uid for owner in _objects(owners)):
            del self.objects[key]
            return
        status = manifest.body.get("status")
        reserved = _objects(status.get("reservedFor")) if isinstance(status, dict) else []
        rest = [consumer for consumer in reserved if consumer.get("uid") != uid]
        if isinstance(status, dict) and len(rest) < len(reserved):
            changed = {**status, "reservedFor": rest} if rest else {}
            self.objects[key] = Manifest(manifest.source, {**manifest.body, "status": changed})


def key_of(manifest: Manifest, namespace: str) -> Key | None:
    """Give the key of an object, None where its kind does not matter. Raises ``Unusable``."""
    version, kind = manifest.body.get("apiVersion"), manifest.body.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        raise Unusable(f"{manifest.source} has no apiVersion and kind, so it is no object of the API")
    if kind not in KINDS or version.rpartition("/")[0] != ("" if kind in {"Pod", "Node", "Namespace"} else GROUP):
        return None
    metadata = _metadata(manifest.body)
    name, own = metadata.get("name") or metadata.get("generateName"), metadata.get("namespace") or namespace
    if not isinstance(name, str) or not isinstance(own, str):
        raise Unusable(f"{manifest.source}: the {kind} has no metadata.name")
    return Key(kind, own if kind in NAMESPACED else "", name)


def _placed(body: JsonObject, key: Key) -> JsonObject:
    metadata = {**_metadata(body), "name": key.name}
    return {**body, "metadata": {**metadata, "namespace": key.namespace} if key.namespace else metadata}


def _metadata(body: JsonObject) -> JsonObject:
    metadata = body.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _objects(value: Any) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
