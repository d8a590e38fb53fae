"""The API server, asked over HTTP: objects are JSON as it stands."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.cluster import files
from tests.cluster.spaces import Spaces

Object = dict[str, Any]

_DRA, _RBAC = "apis/resource.k8s.io/v1", "apis/rbac.authorization.k8s.io/v1"
_ADMISSION = "apis/admissionregistration.k8s.io/v1"
_PLACES: dict[str, tuple[str, str, bool]] = {
    "Namespace": ("api/v1", "namespaces", False),
    "Node": ("api/v1", "nodes", False),
    "Pod": ("api/v1", "pods", True),
    "Event": ("api/v1", "events", True),
    "ServiceAccount": ("api/v1", "serviceaccounts", True),
    "Job": ("apis/batch/v1", "jobs", True),
    "ValidatingAdmissionPolicy": (_ADMISSION, "validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": (_ADMISSION, "validatingadmissionpolicybindings", False),
    "ClusterRole": (_RBAC, "clusterroles", False),
    "ClusterRoleBinding": (_RBAC, "clusterrolebindings", False),
    "ResourceClaim": (_DRA, "resourceclaims", True),
    "ResourceClaimTemplate": (_DRA, "resourceclaimtemplates", True),
    "ResourceSlice": (_DRA, "resourceslices", False),
    "DeviceClass": (_DRA, "deviceclasses", False),
    "DeviceTaintRule": (_DRA, "devicetaintrules", False),
    "ResourcePoolStatusRequest": ("apis/resource.k8s.io/v1alpha3", "resourcepoolstatusrequests", False),
    "CustomResourceDefinition": ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
}
"""Where a kind's objects are: group and version, plural, in a namespace or not."""

_BUSY = frozenset({http.HTTPStatus.TOO_MANY_REQUESTS, *range(500, 600)})
"""What a server answers that starts, or does not get round to it: no refusal, and another try may do."""


_KEPT = 30.0
"""Seconds that a connection may be idle. The server closes it after 90, and what is sent then is lost with it."""


class ApiError(AssertionError):
    """The server refused; ``code`` is the HTTP status."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Wire:
    """A connection to the API server, kept; one that breaks is made anew. For one thread."""

    def __init__(self, spaces: Spaces, authority: Path) -> None:
        self._spaces = spaces
        self._authority = authority
        self._connection: http.client.HTTPSConnection | None = None
        self._used = 0.0

    def send(self, method: str, target: str, body: str | None, headers: dict[str, str]) -> tuple[int, str]:
        """Send a request, and give status and body of the answer. Raises ``OSError``."""
        if time.monotonic() - self._used > _KEPT:
            self.close()
        for last in (method == "POST", True):
            try:
                connection = self._connected()
                connection.request(method, target, body, headers)
                answer = connection.getresponse()
                text = answer.read().decode()
            except (http.client.HTTPException, OSError) as error:
                self.close()
                if last:
                    raise ConnectionError(f"{method} {target}: {error}") from error
            else:
                self._used = time.monotonic()
                return answer.status, text
        raise AssertionError("the last try answers or raises")

    def close(self) -> None:
        """Close it; the next request makes another."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _connected(self) -> http.client.HTTPSConnection:
        if self._connection is None:
            host = urlsplit(files.SERVER)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(self._authority)
            connection = http.client.HTTPSConnection(host.hostname or "", host.port, timeout=60, context=context)
            try:
                with self._spaces.network():
                    connection.connect()
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection


class Api:
    """The API server as who holds ``token`` sees it. Names without a namespace are in ``namespace``.

    What cannot be sent, or is not answered as the server is too busy, raises ``OSError``; what is refused ``ApiError``.
    """

    def __init__(self, wire: Wire, token: str = "admin", namespace: str = "default") -> None:
        self.namespace = namespace
        self._wire = wire
        self._token = token

    def within(self, namespace: str) -> Api:
        """Give the same for another namespace."""
        return Api(self._wire, self._token, namespace)

    def bearing(self, token: str) -> Api:
        """Give the same for who holds another token."""
        return Api(self._wire, token, self.namespace)

    def close(self) -> None:
        """Close the connection; the next request makes another."""
        self._wire.close()

    def get(self, kind: str, name: str) -> Object | None:
        """Give an object, or None when there is none."""
        try:
            return self.request("GET", self.path(kind, name))
        except ApiError as error:
            if error.code == http.HTTPStatus.NOT_FOUND:
                return None
            raise

    def list(self, kind: str, *, everywhere: bool = False, **query: str) -> list[Object]:
        """List objects of the namespace, or of all; ``query`` as the API has it (``fieldSelector`` and so on)."""
        group, plural, namespaced = _PLACES[kind]
        path = f"/{group}/{plural}" if everywhere or not namespaced else self.path(kind)
        items: list[Object] = self.request("GET", path, query=query)["items"]
        return items

    def create(self, manifest: Object) -> Object:
        """Create an object."""
        return self.request("POST", self.path(manifest["kind"]), manifest)

    def apply(self, manifest: Object) -> Object:
        """Create an object or make it as the manifest says."""
        namespace = manifest["metadata"].get("namespace")
        path = (self.within(namespace) if namespace else self).path(manifest["kind"], manifest["metadata"]["name"])
        query = {"fieldManager": "tests", "force": "true"}
        return self.request("PATCH", path, manifest, query=query, content="application/apply-patch+yaml")

    def patch(self, kind: str, name: str, change: Object, sub: str = "") -> Object:
        """Change an object, or its subresource ``sub``, by a merge patch."""
        path = self.path(kind, name) + (f"/{sub}" if sub else "")
        return self.request("PATCH", path, change, content="application/merge-patch+json")

    def delete(self, kind: str, name: str, *, grace: int | None = None) -> None:
        """Delete an object; that it is gone already is fine. ``grace`` 0 is without waiting for the node."""
        options = {} if grace is None else {"gracePeriodSeconds": str(grace)}
        try:
            self.request("DELETE", self.path(kind, name), query=options)
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise

    def path(self, kind: str, name: str = "") -> str:
        """Give the path of a kind's objects, or of one."""
        group, plural, namespaced = _PLACES[kind]
        inside = f"/namespaces/{self.namespace}" if namespaced else ""
        return f"/{group}{inside}/{plural}" + (f"/{name}" if name else "")

    def request(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: dict[str, str] | None = None,
        content: str = "application/json",
    ) -> Object:
        """Send a request, and give what comes back as JSON. Raises ``ApiError``."""
        answer: Object = json.loads(self.raw(method, path, body, query=query, content=content))
        return answer

    def raw(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        text: str | None = None,
        query: dict[str, str] | None = None,
        content: str = "application/json",
    ) -> str:
        """As ``request``, for what is no JSON, such as logs; ``text``: a body that goes out as it stands."""
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content}
        sent = text if body is None else json.dumps(body, sort_keys=True, separators=(",", ":"))
        status, answer = self._wire.send(method, target, sent, headers)
        if status in _BUSY:
            raise ConnectionError(f"{method} {path}: {status}: {answer}")
        if status >= http.HTTPStatus.BAD_REQUEST:
            with contextlib.suppress(ValueError):
                answer = json.loads(answer)["message"]
            raise ApiError(status, f"{method} {path}: {answer}")
        return answer
