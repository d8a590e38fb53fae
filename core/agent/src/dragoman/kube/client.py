"""One shared connection to the API server: raw JSON in and out, blocking calls in a few daemon threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from urllib3.exceptions import HTTPError, ProtocolError

from dragoman.kube.access import Access, api_client
from dragoman.kube.errors import ServerUnavailable, failure
from dragoman.kube.reading import read
from dragoman.kube.watch import WatchStream
from dragoman.threads import DaemonThreads

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_CONNECT_SECONDS = 5.0

T = TypeVar("T")


class KubeClient:
    """The official client's transport (TLS, tokens, proxies) without its models. ``connect`` comes before all else.

    ``requests`` counts HTTP requests since the start. ``timeout`` bounds each request in seconds, waiting for a free
    thread included. Errors of every request: ``ApiError`` (refused), ``ServerUnavailable`` (a retry may help).
    """

    def __init__(self, access: Access, *, timeout: float = 10.0, threads: int = 8) -> None:
        self._access = access
        self._api: Any = None
        self._timeout = timeout
        self._connections = threads
        self._threads = DaemonThreads("kube", threads)
        self._streams: set[WatchStream] = set()
        self._lock = threading.Lock()
        self._closed = False
        self.requests = 0

    async def connect(self) -> None:
        """Find the API server and load the credentials. Raises ``Refused`` without a usable configuration."""
        self._api = await api_client(self._access, connections=self._connections)

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End watches, let threads go and close idle connections; a request that hangs is left behind."""
        self._closed = True
        for stream in tuple(self._streams):
            stream.stop()
        self._threads.close()
        if self._api is not None:
            self._api.rest_client.close()

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """GET; a kept connection that the server closed meanwhile is replaced once."""
        return await self.request("GET", path, query=query)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> bytes:
        """Send one request and give the body of the answer."""
        if self._closed:
            raise ServerUnavailable(f"{method} {path}: the connection to the API server was closed")
        timeout = (min(_CONNECT_SECONDS, self._timeout), self._timeout)
        what = f"{method} {path}"

        def call() -> bytes:
            response = self._open(method, path, query, body, (content_type, accept), timeout)
            return _read(what, response)

        try:
            async with asyncio.timeout(self._timeout + _CONNECT_SECONDS):
                return await self._threads.run(call)
        except TimeoutError as error:
            raise ServerUnavailable(f"{what}: no answer within {self._timeout:g} s") from error

    def watch(self, path: str, query: Mapping[str, str], *, silence: float) -> WatchStream:
        """Follow a collection; ``silence`` is how long, in seconds, no byte may come before the connection is dead.

        Iterate over it within ``async with``; it ends when the server ends it.
        """

        def connect() -> Any:
            response = self._open("GET", path, query, None, (JSON, JSON), (_CONNECT_SECONDS, silence))
            if response.status != 200:
                raise failure(f"watch {path}", response.status, response.headers, response.data)
            return response

        return WatchStream(f"watch {path}", connect, self._streams)

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | bytes | None,
        types: tuple[str, str],
        timeout: tuple[float, float],
    ) -> Any:
        """Send the request, in a thread; gives the urllib3 response with its body unread.

        ``types``: of the body that is sent, and of the one that is wanted.
        """
        tries = 2 if method == "GET" else 1
        while True:
            tries -= 1
            try:
                return self._open_once(method, path, query, body, types, timeout)
            except ProtocolError as error:
                if not tries:
                    raise ServerUnavailable(f"{method} {path}: the connection broke: {error}") from error
            except Exception as error:
                # The official client hides failures of TLS in an exception of its own.
                cause = error if isinstance(error, (HTTPError, OSError)) else error.__context__
                if not isinstance(cause, (HTTPError, OSError)):
                    raise
                raise ServerUnavailable(f"{method} {path}: the API server cannot be reached: {cause}") from error

    def _open_once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | bytes | None,
        types: tuple[str, str],
        timeout: tuple[float, float],
    ) -> Any:
        content_type, accept = types
        headers = {"Accept": accept} | ({"Content-Type": content_type} if body is not None else {})
        verb, url, sent_headers, sent_body, _ = self._api.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        with self._lock:
            self.requests += 1
        return self._api.call_api(verb, url, sent_headers, sent_body, _request_timeout=timeout).response


def _read(what: str, response: Any) -> bytes:
    try:
        body: bytes = response.data
    except (HTTPError, OSError) as error:
        raise ServerUnavailable(f"{what}: the answer broke off: {error}") from error
    if 200 <= response.status < 300:
        return body
    raise failure(what, response.status, response.headers, body)


def decode(what: str, body: bytes, kind: type[T]) -> T:
    """Decode an answer into a struct. Raises ``ServerUnavailable`` for what is not the expected JSON."""
    try:
        return read(body, kind)
    except msgspec.DecodeError as error:
        raise ServerUnavailable(f"{what}: the answer cannot be read: {error}") from error
