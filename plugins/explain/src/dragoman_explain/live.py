"""Objects of a cluster, in whatever version of resource.k8s.io it serves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from dragoman_explain.release import release_of
from dragoman_explain.store import GROUP, Store, Unusable
from dragoman_explain.subjects import CLUSTER
from dragoman_hookspecs import ApiRefused, Cluster, JsonObject
from dragoman_kit.manifests import Manifest

VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
"""Newest first: v1 is served since 1.34, the betas before and beside it."""
_RULES: Final = ("v1", "v1beta2", "v1alpha3")
"""DeviceTaintRule: v1 since 1.37, v1beta2 since 1.36, v1alpha3 before; a cluster may serve none of them."""
_REFUSED: Final = (403, 404)


@dataclass(frozen=True, slots=True)
class Live:
    """An API server and the version of the group that is read from it."""

    cluster: Cluster
    version: str

    @classmethod
    def of(cls, cluster: Cluster) -> Live:
        """Choose the newest version that both know. Raises ``DragomanError``."""
        try:
            served = cluster.get(f"/apis/{GROUP}").get("versions")
        except ApiRefused as refused:
            if refused.status != 404:
                raise
            served = None
        names = {each.get("version") for each in served or () if isinstance(each, dict)}
        for version in VERSIONS:
            if version in names:
                return cls(cluster, version)
        raise Unusable(f"the cluster serves none of {', '.join(VERSIONS)} of {GROUP}: it has no claims to explain")

    def release(self) -> str:
        """Give the release whose rules the cluster follows. Raises ``DragomanError``."""
        return release_of(self.cluster.get("/version"))

    def store(self, namespaces: Iterable[str] | None) -> Store:
        """Read what matters to subjects in these namespaces, None for all. Raises ``DragomanError``.

        Pods are those of the namespaces: whoever accounts for nodes needs ``namespaces`` None.
        """
        store = Store()
        for manifest in self._everything(namespaces):
            store.add(manifest, "default")
        return store

    def _everything(self, namespaces: Iterable[str] | None) -> Iterator[Manifest]:
        for resource, kind in (
            ("resourceslices", "ResourceSlice"),
            ("deviceclasses", "DeviceClass"),
            ("resourceclaims", "ResourceClaim"),
        ):
            yield from self._of_group(self.version, resource, kind)
        yield from self._rules()
        yield from self._core("/api/v1/nodes", "Node")
        if namespaces is None:
            yield from self._of_group(self.version, "resourceclaimtemplates", "ResourceClaimTemplate")
            yield from self._core("/api/v1/pods", "Pod")
            return
        for namespace in namespaces:
            where = f"namespaces/{namespace}"
            yield from self._of_group(self.version, f"{where}/resourceclaimtemplates", "ResourceClaimTemplate")
            yield from self._core(f"/api/v1/{where}/pods", "Pod")
            yield from self._namespace(namespace)

    def _of_group(self, version: str, path: str, kind: str) -> Iterator[Manifest]:
        for body in self.cluster.list(f"/apis/{GROUP}/{version}/{path}"):
            yield _manifest(body, f"{GROUP}/{version}", kind)

    def _core(self, path: str, kind: str) -> Iterator[Manifest]:
        for body in self.cluster.list(path):
            yield _manifest(body, "v1", kind)

    def _rules(self) -> Iterator[Manifest]:
        for version in _RULES:
            try:
                found = list(self._of_group(version, "devicetaintrules", "DeviceTaintRule"))
            except ApiRefused as refused:
                if refused.status != 404:
                    raise
            else:
                yield from found
                return

    def _namespace(self, name: str) -> Iterator[Manifest]:
        try:
            yield _manifest(self.cluster.get(f"/api/v1/namespaces/{name}"), "v1", "Namespace")
        except ApiRefused as refused:
            if refused.status not in _REFUSED:
                raise


def _manifest(body: JsonObject, version: str, kind: str) -> Manifest:
    # Items of a list carry neither.
    return Manifest(CLUSTER, {**body, "apiVersion": version, "kind": kind})
