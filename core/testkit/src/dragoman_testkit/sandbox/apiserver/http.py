"""HTTP: paths, verbs and bodies to and from the registry."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from dragoman.conversations import stop_listening
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import protobuf, selectors, watching
from dragoman_testkit.sandbox.apiserver.convert import to_stored, to_version
from dragoman_testkit.sandbox.apiserver.errors import ApiFault, bad_request, expired, no_manager, not_served
from dragoman_testkit.sandbox.apiserver.faults import Faults
from dragoman_testkit.sandbox.apiserver.registry import Registry
from dragoman_testkit.sandbox.apiserver.resources import CLAIMS, Catalogue, Target
from dragoman_testkit.sandbox.apiserver.store import Store

APPLY = "application/apply-patch"
_LARGEST = 8 * 1024 * 1024
"""Bytes of the body of a request."""
MERGE = ("application/merge-patch+json", "application/strategic-merge-patch+json")


def _recent() -> deque[Any]:
    """A sandbox may run for days; nobody asks for more."""
    return deque(maxlen=10_000)


@dataclass(slots=True)
class Frontend:
    """Answers requests, and keeps what each one asked: verb and path, verb and field selector, Authorization."""

    catalogue: Catalogue
    store: Store
    registry: Registry
    faults: Faults
    version: Callable[[], tuple[int, int]]
    bookmarks: float
    requests: deque[tuple[str, str]] = field(default_factory=_recent)
    field_selectors: deque[tuple[str, str]] = field(default_factory=_recent)
    authorizations: deque[str] = field(default_factory=_recent)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        target = self.catalogue.resolve(request.path)
        verb = _verb(request, target)
        self.requests.append((verb, request.path))
        self.field_selectors.append((verb, request.query.get("fieldSelector", "")))
        if who := request.headers.get("Authorization"):
            self.authorizations.append(who)
        self.store.wake()
        try:
            lose = await self.faults.meet(verb, request.path)
            answer = await self._answer(request, target, verb)
        except ApiFault as fault:
            answer, lose = _failure(request, fault), False
        if isinstance(answer, web.Response) and isinstance(answer.body, bytes):
            answer.body = self.faults.spelled(answer.body)
        if lose and request.transport is not None:
            request.transport.abort()
        return answer

    async def _answer(self, request: web.BaseRequest, target: Target | None, verb: str) -> web.StreamResponse:
        if target is None:
            return self._discovery(request.path)
        if verb == "watch":
            return await self._watch(request, target)
        return await self._object_verb(request, target, verb)

    def _discovery(self, path: str) -> web.Response:
        found = self.catalogue.document(path, self.version())
        if found is not None:
            return _json(found)
        if self.catalogue.knows_group(path):
            raise not_served()
        healthy = path in ("/healthz", "/livez", "/readyz")
        return web.Response(text="ok") if healthy else web.Response(status=404, text="404 page not found\n")

    async def _object_verb(self, request: web.BaseRequest, target: Target, verb: str) -> web.Response:
        resource, namespace = target.resource, target.namespace or ""
        body = await _body(request)
        if verb == "list":
            return _json(self._list(request, target))
        if verb == "deletecollection":
            return _json(self._delete_collection(request, target))
        if verb == "get":
            return self._got(request, target)
        if verb == "create":
            made = self.registry.create(resource, to_stored(resource, target.version, body), namespace)
            return self._shown(target, made, 201)
        if verb == "delete":
            options = body.get("preconditions"), body.get("gracePeriodSeconds")
            return self._shown(target, self.registry.delete(resource, namespace, target.name or "", *options))
        return self._shown(target, self._write(request, target, verb, body))

    def _got(self, request: web.BaseRequest, target: Target) -> web.Response:
        found = self.registry.get(target.resource, target.namespace or "", target.name or "")
        if target.resource == CLAIMS and _wants_protobuf(request):
            return web.Response(body=protobuf.encode(found), content_type=protobuf.TYPE)
        return self._shown(target, found)

    def _write(self, request: web.BaseRequest, target: Target, verb: str, body: JsonObject) -> JsonObject:
        resource, namespace, name = target.resource, target.namespace or "", target.name or ""
        status = target.subresource == "status"
        _check_name(body, name)
        if status and resource == CLAIMS and self.faults.loose_parameters and request.content_type != protobuf.TYPE:
            self.registry.refuse_allocation(resource, namespace, name)
        if verb == "apply":
            _check_apply(request, target, body)
        if verb == "update":
            obj = to_stored(resource, target.version, body)
            return self.registry.update(resource, obj, namespace, status=status)
        if verb == "apply" and status and resource == CLAIMS:
            manager = request.query["fieldManager"]
            strict = self.faults.needs_share_id
            return self.registry.apply_status(resource, namespace, name, body, manager, needs_share_id=strict)
        if verb == "apply" and not status and self.store.get(resource, (namespace, name)) is None:
            body["metadata"] = {**(body.get("metadata") or {}), "name": name}
            return self.registry.create(resource, body, namespace)
        return self.registry.merge(resource, namespace, name, body, status=status)

    def _list(self, request: web.BaseRequest, target: Target) -> JsonObject:
        wanted = request.query.get("resourceVersion") or "0"
        if request.query.get("resourceVersionMatch") == "Exact" and wanted != str(self.store.version):
            raise expired(int(wanted), self.store.version)
        found = list(filter(self._matcher(request, target), self.store.all(target.resource)))
        # A page begins where the one before ended; a real server gives all of them as of one version.
        begin, limit = (int(request.query.get(name) or 0) for name in ("continue", "limit"))
        end = begin + limit if limit else len(found)
        following = {"continue": str(end)} if end < len(found) else {}
        return {
            "kind": f"{target.resource.kind}List",
            "apiVersion": target.resource.api_version(target.version),
            "metadata": {"resourceVersion": str(self.store.version), **following},
            "items": [to_version(target.resource, target.version, obj) for obj in found[begin:end]],
        }

    def _delete_collection(self, request: web.BaseRequest, target: Target) -> JsonObject:
        found = self._list(request, target)
        for obj in found["items"]:
            metadata = obj["metadata"]
            self.registry.delete(target.resource, metadata.get("namespace", ""), metadata["name"])
        return found

    async def _watch(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        version = request.query.get("resourceVersion")
        timeout = request.query.get("timeoutSeconds")
        watch = watching.Watch(
            resource=target.resource,
            matches=self._matcher(request, target),
            version=None if version in (None, "", "0") else int(version or 0),
            bookmarks=self.bookmarks if request.query.get("allowWatchBookmarks") in ("true", "1", "True") else None,
            timeout=None if timeout is None else float(timeout),
        )
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionResetError):  # who watched is gone
            async for event in watching.events(self.store, self.faults, watch):
                obj = event["object"]
                shown = obj if event["type"] == "ERROR" else to_version(target.resource, target.version, obj)
                line = json.dumps({"type": event["type"], "object": shown}).encode() + b"\n"
                await response.write(self.faults.spelled(line))
        return response

    def _matcher(self, request: web.BaseRequest, target: Target) -> selectors.Matcher:
        by_field = selectors.fields(target.resource, request.query.get("fieldSelector", ""))
        by_label = selectors.labels(request.query.get("labelSelector", ""))
        inside = target.namespace
        name = target.name

        def matches(obj: JsonObject) -> bool:
            metadata = obj["metadata"]
            here = inside is None or metadata.get("namespace") == inside
            return here and name in (None, metadata["name"]) and by_field(obj) and by_label(obj)

        return matches

    def _shown(self, target: Target, obj: JsonObject, status: int = 200) -> web.Response:
        return _json(to_version(target.resource, target.version, obj), status)


def _verb(request: web.BaseRequest, target: Target | None) -> str:
    named = target is not None and target.name is not None
    if request.method == "GET":
        watching_now = request.query.get("watch") in ("true", "1", "True")
        return "watch" if watching_now else "get" if named or target is None else "list"
    if request.method == "PATCH":
        return "apply" if request.content_type.startswith(APPLY) else "patch"
    if request.method == "DELETE":
        return "delete" if named else "deletecollection"
    return {"POST": "create", "PUT": "update"}.get(request.method, request.method.lower())


async def _body(request: web.BaseRequest) -> JsonObject:
    raw = await request.read()
    if not raw:
        return {}
    if request.content_type == protobuf.TYPE:
        return protobuf.decode(raw)
    if request.method == "PATCH" and not request.content_type.startswith((APPLY, *MERGE)):
        raise ApiFault(415, "UnsupportedMediaType", f"unsupported patch {request.content_type}")
    try:
        decoded = json.loads(raw)
    except ValueError as error:
        raise bad_request(f"the body is not JSON: {error}") from error
    if not isinstance(decoded, dict):
        raise bad_request("the body is not an object")
    return decoded


def _check_name(body: JsonObject, name: str) -> None:
    given = (body.get("metadata") or {}).get("name") or name
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def _check_apply(request: web.BaseRequest, target: Target, body: JsonObject) -> None:
    if (body.get("apiVersion"), body.get("kind")) != (
        target.resource.api_version(target.version),
        target.resource.kind,
    ):
        raise bad_request(f"invalid object type: {body.get('apiVersion', '/')}, Kind={body.get('kind', '')}")
    if not request.query.get("fieldManager"):
        raise no_manager()


def _json(obj: JsonObject, status: int = 200) -> web.Response:
    return web.Response(status=status, body=json.dumps(obj).encode(), content_type="application/json")


def _wants_protobuf(request: web.BaseRequest) -> bool:
    return request.headers.get("Accept") == protobuf.TYPE


def _failure(request: web.BaseRequest, fault: ApiFault) -> web.Response:
    if _wants_protobuf(request):
        return web.Response(status=fault.code, body=protobuf.failure(fault), content_type=protobuf.TYPE)
    answer = _json(fault.status(), fault.code)
    if fault.retry_after is not None:
        answer.headers["Retry-After"] = str(fault.retry_after)
    return answer


class _Connections(web.Server):
    """Ends connections, too, that were accepted when it ended and are made after that; aiohttp leaves these open."""

    _ended = False

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as aiohttp has it
        """End all, and begin no more. ``timeout``: seconds that requests have to end by themselves."""
        self._ended = True
        await super().shutdown(timeout)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Begin one, as its protocol asks for."""
        super().connection_made(handler, transport)
        if self._ended:
            # Not now: aiohttp begins to serve a connection in its next turn, lost or not.
            asyncio.get_running_loop().call_soon(transport.abort)


class Listening:
    """A front end that listens."""

    def __init__(self, connections: _Connections, server: asyncio.Server) -> None:
        self._connections = connections
        self._server = server

    @classmethod
    async def begin(cls, frontend: Frontend, host: str, port: int) -> Self:
        """Listen. Raises ``OSError``."""
        connections = _Connections(frontend.handle, request_factory=_request, access_log=None)
        return cls(connections, await asyncio.get_running_loop().create_server(connections, host, port))

    async def end(self) -> None:
        """Stop listening and end all connections."""
        await stop_listening(self._server)
        self._connections.pre_shutdown()
        await self._connections.shutdown(0.1)


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_LARGEST)
