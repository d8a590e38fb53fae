"""Any collection as a controller sees it: all objects first, then every change."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dragoman.clock import Clock
from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError
from dragoman.kube.follow import Follower, Position
from dragoman.kube.reading import read
from dragoman.kube.watch import WatchEvent, watch_query
from dragoman_hookspecs import JsonObject

SYNCED: Final = "SYNCED"
PAGE: Final = 500
"""Objects of one answer of a list."""

_SILENCE: Final = 900.0
"""Seconds without a byte after which a watch is dead: more than it lasts, as a server may send no bookmarks and a list
costs much here. A peer that is gone without a word is noticed by the kernel in a minute: see ``access``."""
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
    query = {"limit": str(PAGE)}
    while True:
        try:
            page = decode(f"list {path}", await client.get(path, query), Page)
        except ApiError as error:
            if error.status != HTTPStatus.GONE or "continue" not in query:
                raise
            # The list became too old between two pages; in one piece it cannot.
            items, query = [], {}
            continue
        items += page.items or ()
        if not (following := page.metadata.get("continue")):
            return items, str(page.metadata.get("resourceVersion", ""))
        query = {"limit": str(PAGE), "continue": str(following)}


async def follow(client: KubeClient, clock: Clock, path: str, emit: Emit) -> None:
    """Call ``emit(type, object)``: ADDED for what is there, SYNCED, then ADDED, MODIFIED and DELETED.

    What went while there was no connection is told as DELETED with its metadata; what did not change is not told again.
    Goes on until cancelled. Raises ``ApiError`` where the collection may not be read, or is not served.
    """
    changes = _Changes(client, path, emit)
    await Follower(
        client, clock, path, position=changes.position, take=changes.take, silence=_SILENCE, final=_FINAL
    ).run()


class _Changes:
    """What was told of a collection, and what has to be told now."""

    def __init__(self, client: KubeClient, path: str, emit: Emit) -> None:
        self._client = client
        self._path = path
        self._emit = emit
        self._known: dict[tuple[str, str], dict[str, str]] = {}
        self._synced = False

    async def position(self) -> Position:
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
        return self._path, watch_query(version)

    def take(self, event: WatchEvent) -> None:
        self._see(event.type, read(event.object, dict[str, Any]))

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
