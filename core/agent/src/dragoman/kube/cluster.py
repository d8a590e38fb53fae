"""Raw access to the API server for controllers and commands of plugins, which block; the client works on a loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from dragoman.clock import Clock
from dragoman.kube.client import APPLY_PATCH, KubeClient, decode
from dragoman.kube.collection import follow, read_all
from dragoman.kube.errors import ApiError, ServerUnavailable
from dragoman.patience import USUAL, Patience
from dragoman_hookspecs import JsonObject

_T = TypeVar("_T")
_LOOK: Final = 0.2
"""Seconds between two looks at whether a watch was stopped."""


class KubeCluster:
    """Satisfies ``dragoman_hookspecs.Cluster`` from any thread but that of the loop. ``manager`` names field managers.

    ``patience`` is told of requests that take long. Raises ``ServerUnavailable`` once the loop has ended.
    """

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        *,
        manager: str,
        patience: Patience = USUAL,
    ) -> None:
        self._client = client
        self._clock = clock
        self._loop = loop
        self._manager = manager
        self._patience = patience

    def get(self, path: str) -> JsonObject:
        """Read one object."""
        return self._object(path, self._client.get(path))

    def list(self, path: str) -> Sequence[JsonObject]:
        """Read all objects of a collection, page by page."""
        items, _ = self._result(path, read_all(self._client, path))
        return items

    def watch(self, path: str, changed: Callable[[str, JsonObject], None], stopped: threading.Event) -> None:
        """Follow a collection until ``stopped``; ``changed`` is called in the caller's thread."""
        events: queue.SimpleQueue[tuple[str, JsonObject]] = queue.SimpleQueue()
        work = follow(self._client, self._clock, path, lambda type_, item: events.put((type_, item)))
        following = self._submit(work)
        try:
            while not stopped.is_set():
                try:
                    event = events.get(timeout=_LOOK)
                except queue.Empty:
                    if following.done():
                        following.result()
                    continue
                changed(*event)
        finally:
            following.cancel()

    def apply(self, path: str, body: JsonObject) -> JsonObject:
        """Server-side apply."""
        query = {"fieldManager": self._manager, "force": "true"}
        return self._object(path, self._client.request("PATCH", path, query=query, body=body, content_type=APPLY_PATCH))

    def update(self, path: str, body: JsonObject) -> JsonObject:
        """Replace an object or its status."""
        return self._object(path, self._client.request("PUT", path, query={"fieldManager": self._manager}, body=body))

    def delete(self, path: str, *, uid: str | None = None) -> None:
        """Delete an object; one that is gone is no error."""
        body: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        try:
            self._result(path, self._client.request("DELETE", path, body=body))
        except ApiError as error:
            if error.status != 404:
                raise

    def _object(self, path: str, request: Coroutine[Any, Any, bytes]) -> JsonObject:
        return decode(path, self._result(path, request), dict[str, Any])

    def _result(self, path: str, work: Coroutine[Any, Any, _T]) -> _T:
        told = self._patience.told(f"the API server to answer about {path}", work)
        return self._submit(told, work).result()

    def _submit(self, work: Coroutine[Any, Any, _T], *within: Coroutine[Any, Any, _T]) -> Future[_T]:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError as error:
            for each in (work, *within):
                each.close()
            raise ServerUnavailable("the connection to the API server was closed") from error
