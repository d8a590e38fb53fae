"""Follows any collection: all objects first, then every change, over as many connections as it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from loguru import logger

from dragoman.clock import Clock
from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError
from dragoman.kube.watch import watch_query
from dragoman_hookspecs import DragomanError, JsonObject

SYNCED: Final = "SYNCED"
PAGE: Final = 500
"""Objects of one answer of a list."""

_PAUSES: Final = (1.0, 30.0)
"""First and longest pause, in seconds, before the next list."""
_SILENCE: Final = 900.0
_FINAL: Final = frozenset({401, 403, 404, 405})
"""Answers that the caller has to know of: no right to it, or no such kind."""

Emit = Callable[[str, JsonObject], None]


class Page(msgspec.Struct):
    """A part of a list."""

    metadata: dict[str, Any] = {}
    items: list[JsonObject] | None = None


async def read_all(client: KubeClient, path: str) -> tuple[list[JsonObject], str]:
    """List a collection page by page; gives the objects and the version of the list. Raises as ``KubeClient.get``."""
    items: list[JsonObject] = []
    position: dict[str, str] = {}
    while True:
        query = {"limit": str(PAGE), **position}
        page = decode(f"list {path}", await client.get(path, query), Page)
        items += page.items or ()
        if not (following := page.metadata.get("continue")):
            return items, str(page.metadata.get("resourceVersion", ""))
        position = {"continue": str(following)}


class Follower:
    """Calls ``emit(type, object)``: ADDED for what is there, SYNCED, then ADDED, MODIFIED and DELETED.

    What went while there was no connection is told as DELETED with its metadata; what did not change is not told again.
    """

    def __init__(self, client: KubeClient, clock: Clock, path: str, emit: Emit) -> None:
        self._client = client
        self._clock = clock
        self._path = path
        self._emit = emit
        self._known: dict[tuple[str, str], dict[str, str]] = {}
        self._synced = False
        self._pause = _PAUSES[0]

    async def run(self) -> None:
        """Follow until cancelled. Raises ``ApiError`` where the collection may not be read, or is not served."""
        while True:
            try:
                await self._watch(await self._list())
                self._pause = _PAUSES[0]
            except (DragomanError, msgspec.DecodeError) as error:
                self._bear(error)
            await self._clock.sleep(self._pause)
            self._pause = min(self._pause * 2, _PAUSES[1])

    def _bear(self, error: Exception) -> None:
        status = error.status if isinstance(error, ApiError) else None
        if status in _FINAL:
            raise error
        if status == 410:
            self._pause = _PAUSES[0]  # the server is well, and forgets early
        logger.log("DEBUG" if status == 410 else "WARNING", "following {} broke off: {}", self._path, error)

    async def _list(self) -> str:
        items, version = await read_all(self._client, self._path)
        gone = dict(self._known)
        for item in items:
            gone.pop(_key(item), None)
            self._see("MODIFIED" if _key(item) in self._known else "ADDED", item)
        for metadata in gone.values():
            self._see("DELETED", {"metadata": metadata})
        if not self._synced:
            self._synced = True
            self._emit(SYNCED, {})
        return version

    async def _watch(self, version: str) -> None:
        query = watch_query(version)
        async with self._client.watch(self._path, query, silence=_SILENCE) as events:
            async for event in events:
                self._pause = _PAUSES[0]
                if event.type != "BOOKMARK":
                    self._see(event.type, msgspec.json.decode(event.object, type=dict[str, Any]))

    def _see(self, type_: str, item: JsonObject) -> None:
        key, metadata = _key(item), item["metadata"]
        if type_ == "DELETED":
            if self._known.pop(key, None) is not None:
                self._emit(type_, item)
            return
        known = self._known.get(key)
        stub = {name: str(metadata.get(name, "")) for name in ("name", "namespace", "uid", "resourceVersion")}
        if known is not None and known["uid"] != stub["uid"]:
            self._emit("DELETED", {"metadata": known})
            known = None
        if known is None or known["resourceVersion"] != stub["resourceVersion"]:
            self._known[key] = stub
            self._emit("ADDED" if known is None else "MODIFIED", item)


def _key(item: JsonObject) -> tuple[str, str]:
    metadata = item["metadata"]
    return str(metadata.get("namespace", "")), str(metadata["name"])
