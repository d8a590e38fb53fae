"""The server object: HTTP for the agent, plain calls for the process that holds it."""

from __future__ import annotations

import asyncio
import copy
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.faults import Faults
from dragoman_testkit.sandbox.apiserver.http import Frontend, Listening
from dragoman_testkit.sandbox.apiserver.registry import Registry
from dragoman_testkit.sandbox.apiserver.resources import RESOURCE_GROUP, RESOURCES, Catalogue, Resource
from dragoman_testkit.sandbox.apiserver.selectors import fields
from dragoman_testkit.sandbox.apiserver.store import Store

ALL_VERSIONS = ("v1", "v1beta2", "v1beta1")


class ApiServer:
    """An API server on 127.0.0.1, in memory. Its methods are called from the event loop that runs it.

    ``versions``: of resource.k8s.io, best first; none makes the group unknown. ``bookmarks``: seconds between them.
    ``server_version``: what ``/version`` tells. ``extra``: further kinds to serve.
    Objects that are given and taken are in the shape of v1 and are copies. Methods raise ``ApiFault`` as HTTP would.

    >>> async with ApiServer() as server:  # doctest: +SKIP
    ...     server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    """

    def __init__(
        self,
        *,
        port: int = 0,
        versions: Sequence[str] = ALL_VERSIONS,
        server_version: tuple[int, int] = (1, 37),
        bookmarks: float = 60.0,
        now: Callable[[], float] = time.time,
        extra: Sequence[Resource] = (),
    ) -> None:
        self.server_version = server_version
        self._port = port
        self._store = Store()
        self.faults = Faults(self._store.wake)
        self._catalogue = Catalogue((*RESOURCES, *extra))
        self.serve_versions(versions)
        self._registry = Registry(self._store, now, lambda: self.faults.off)
        self._front = Frontend(
            self._catalogue, self._store, self._registry, self.faults, lambda: self.server_version, bookmarks
        )
        self._listening: Listening | None = None
        self._place: socket.socket | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> list[tuple[str, str]]:
        """Verb and path of the last 10,000 requests that came in over HTTP."""
        return list(self._front.requests)

    @property
    def selectors(self) -> list[tuple[str, str]]:
        """Verb and field selector ("" for none) of each request."""
        return list(self._front.field_selectors)

    @property
    def authorizations(self) -> list[str]:
        """The Authorization headers that came in."""
        return list(self._front.authorizations)

    @property
    def version(self) -> int:
        """The resource version of the newest change."""
        return self._store.version

    async def start(self) -> None:
        """Listen; the port stays the same over ``stop`` and ``start``."""
        self._place = self._place or _place(self._port)
        self._port = int(self._place.getsockname()[1])
        self._listening = await Listening.begin(self._front, "127.0.0.1", self._port)

    async def stop(self, *, for_now: bool = False) -> None:
        """Stop listening and end every connection; the objects stay. ``for_now``: nobody else gets the port."""
        if self._listening is not None:
            self.faults.cut_watches()
            await self._listening.end()
            self._listening = None
        if self._place is not None and not for_now:
            self._place.close()
            self._place = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def serve_versions(self, versions: Sequence[str]) -> None:
        """Choose the versions of resource.k8s.io, as an upgrade or a downgrade of the cluster does."""
        self._catalogue.versions[RESOURCE_GROUP] = tuple(versions)

    def compact(self) -> None:
        """Forget the log of changes: watches from now or before get 410."""
        self._store.compact()

    def create(self, obj: JsonObject, namespace: str = "") -> JsonObject:
        """Make an object; its kind is read from it."""
        resource = self._catalogue.of_kind(obj)
        return copy.deepcopy(self._registry.create(resource, obj, namespace or _namespace(obj)))

    def get(self, plural: str, name: str, namespace: str = "") -> JsonObject:
        """Read an object."""
        return copy.deepcopy(self._registry.get(self._catalogue.of_plural(plural), namespace, name))

    def list(self, plural: str, namespace: str = "", field_selector: str = "") -> Sequence[JsonObject]:
        """List objects, of all namespaces where none is given."""
        resource = self._catalogue.of_plural(plural)
        matches = fields(resource, field_selector)
        found = [obj for obj in self._store.all(resource) if matches(obj)]
        return [copy.deepcopy(o) for o in found if namespace in ("", o["metadata"].get("namespace"))]

    def update(self, obj: JsonObject) -> JsonObject:
        """Replace an object; a resource version in it must be the present one."""
        resource = self._catalogue.of_kind(obj)
        return copy.deepcopy(self._registry.update(resource, copy.deepcopy(obj), _namespace(obj)))

    def update_status(self, obj: JsonObject) -> JsonObject:
        """Replace the status of an object; a resource version in it must be the present one."""
        resource = self._catalogue.of_kind(obj)
        return copy.deepcopy(self._registry.update(resource, copy.deepcopy(obj), _namespace(obj), status=True))

    def delete(
        self,
        plural: str,
        name: str,
        namespace: str = "",
        preconditions: Mapping[str, str] | None = None,
        grace_seconds: int | None = 0,
    ) -> None:
        """Delete an object; pods at once unless a grace period is given."""
        resource = self._catalogue.of_plural(plural)
        self._registry.delete(resource, namespace, name, dict(preconditions or {}), grace_seconds)

    async def changed(self, version: int) -> None:
        """Return once something has changed after that version."""
        while self._store.version <= version:
            await self._store.wait(version)

    async def until(self, condition: Callable[[], bool], limit: float = 60.0) -> None:
        """Return once the condition holds; it is looked at after every change and request. Raises ``TimeoutError``."""
        async with asyncio.timeout(limit):
            while not condition():
                await self._store.wait(self._store.version)


def _place(port: int) -> socket.socket:
    """Hold a port beside the socket that listens there: a server that comes back might find it taken."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind(("127.0.0.1", port))
    except OSError:
        held.close()
        raise
    return held


def _namespace(obj: JsonObject) -> str:
    return str((obj.get("metadata") or {}).get("namespace") or "")
