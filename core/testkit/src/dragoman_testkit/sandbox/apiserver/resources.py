"""The kinds that this server serves, and where their paths lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dragoman_hookspecs import JsonObject

RESOURCE_GROUP = "resource.k8s.io"
"""The API group of dynamic resource allocation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One kind. Objects are stored in the shape of ``v1``; ``selectors`` are field selectors beside ``metadata.*``.

    ``graceful``: deletion waits for the node's agent, as for pods.
    """

    group: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = False
    selectors: tuple[str, ...] = ()
    graceful: bool = False

    @property
    def full_name(self) -> str:
        """Plural and group, as failures name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def api_version(self, version: str = "v1") -> str:
        """Give the ``apiVersion`` of its objects."""
        return f"{self.group}/{version}" if self.group else version


CORE = (
    Resource(group="", plural="namespaces", kind="Namespace", namespaced=False, status=True),
    Resource(group="", plural="nodes", kind="Node", namespaced=False, status=True),
    Resource(
        group="",
        plural="pods",
        kind="Pod",
        status=True,
        selectors=("spec.nodeName", "status.phase"),
        graceful=True,
    ),
    Resource(group="", plural="events", kind="Event", selectors=("involvedObject.uid", "reason")),
)
SLICES = Resource(
    group=RESOURCE_GROUP,
    plural="resourceslices",
    kind="ResourceSlice",
    namespaced=False,
    selectors=("spec.nodeName", "spec.driver", "spec.pool.name"),
)
CLAIMS = Resource(group=RESOURCE_GROUP, plural="resourceclaims", kind="ResourceClaim", status=True)
RESOURCES = (
    *CORE,
    SLICES,
    CLAIMS,
    Resource(group=RESOURCE_GROUP, plural="resourceclaimtemplates", kind="ResourceClaimTemplate"),
    Resource(group=RESOURCE_GROUP, plural="deviceclasses", kind="DeviceClass", namespaced=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a path names: a collection (``name`` None) or an object, in one API version, perhaps a subresource."""

    resource: Resource
    version: str
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None


@dataclass(slots=True)
class Catalogue:
    """All kinds, and the versions in which each group is served (best first)."""

    resources: tuple[Resource, ...]
    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of_kind(self, obj: Mapping[str, object]) -> Resource:
        """Find the kind of an object by ``apiVersion`` and ``kind``. Raises ``LookupError``."""
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        return next(r for r in self.resources if (r.group, r.kind) == (group, obj.get("kind")))

    def of_plural(self, plural: str) -> Resource:
        """Find a kind by ``plural`` or ``plural.group``. Raises ``LookupError``."""
        found = [r for r in self.resources if plural in (r.plural, r.full_name)]
        if not found:
            raise LookupError(f"no kind {plural}")
        return found[0]

    def served(self, group: str) -> tuple[str, ...]:
        """Give the versions of a group, best first."""
        return self.versions.get(group, ("v1",))

    def groups(self) -> Iterable[str]:
        """Give the named groups that are served."""
        return [g for g in dict.fromkeys(r.group for r in self.resources) if g and self.served(g)]

    def resolve(self, path: str) -> Target | None:
        """Read a path such as ``/apis/resource.k8s.io/v1/namespaces/x/resourceclaims/y/status``."""
        root, *parts = path.strip("/").split("/")
        if root == "api" and parts:
            group, (version, *rest) = "", parts
        elif root == "apis" and len(parts) > 1:
            group, version, *rest = parts
        else:
            return None
        if version not in self.served(group):
            return None
        return self._resolve(group, version, rest)

    def _resolve(self, group: str, version: str, rest: list[str]) -> Target | None:
        namespace = None
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] != "status":
            namespace, rest = rest[1], rest[2:]
        for resource in self.resources:
            fits = resource.group == group and rest[:1] == [resource.plural] and len(rest) <= 3
            if fits and (namespace is None or resource.namespaced):
                name, subresource = [*rest[1:], None, None][:2]
                return Target(
                    resource=resource, version=version, namespace=namespace, name=name, subresource=subresource
                )
        return None

    def knows_group(self, path: str) -> bool:
        """Tell whether a path is in a group that is served, whatever follows."""
        root, group, *_ = [*path.strip("/").split("/"), "", ""]
        return (root == "apis" and group in self.groups()) or (root, group) == ("api", "v1")

    def document(self, path: str, version: tuple[int, int]) -> JsonObject | None:
        """Give the answer to a discovery path, or None where there is none."""
        parts = path.strip("/").split("/")
        if parts == ["version"]:
            major, minor = version
            return {"major": str(major), "minor": str(minor), "gitVersion": f"v{major}.{minor}.0"}
        if parts == ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"]}
        if parts == ["api", "v1"]:
            return self._resource_list("", "v1")
        return self._group_document(parts[1:]) if parts[0] == "apis" else None

    def _group_document(self, parts: list[str]) -> JsonObject | None:
        if not parts:
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [self._group(g) for g in self.groups()]}
        if parts[0] not in self.groups():
            return None
        if len(parts) == 1:
            return self._group(parts[0])
        known = len(parts) == 2 and parts[1] in self.served(parts[0])
        return self._resource_list(parts[0], parts[1]) if known else None

    def _group(self, name: str) -> JsonObject:
        versions = [{"groupVersion": f"{name}/{v}", "version": v} for v in self.served(name)]
        return {
            "kind": "APIGroup",
            "apiVersion": "v1",
            "name": name,
            "versions": versions,
            "preferredVersion": versions[0],
        }

    def _resource_list(self, group: str, version: str) -> JsonObject:
        here = [r for r in self.resources if r.group == group]
        statuses = [{**_describe(r), "name": f"{r.plural}/status"} for r in here if r.status]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": [_describe(r) for r in here] + statuses,
        }


def _describe(resource: Resource) -> JsonObject:
    verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    return {"name": resource.plural, "kind": resource.kind, "namespaced": resource.namespaced, "verbs": verbs}
