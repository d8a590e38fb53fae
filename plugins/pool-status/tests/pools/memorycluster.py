"""An API server in memory, as far as the controller needs one: lists, watches, write-once status, deletion by UID."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dragoman_hookspecs import ApiRefused

Body = dict[str, Any]


class MemoryCluster:
    """Satisfies ``Cluster``. Collections that were never named are not served. ``expired``: so many
    pages that follow another are refused. ``held``: a collection that is not listed until ``released``."""

    def __init__(self, *collections: str) -> None:
        self._changed = threading.Condition()
        self._objects: dict[str, dict[str, Body]] = {path: {} for path in collections}
        self._watches: list[tuple[str, Callable[[str, Body], None]]] = []
        self._version = 10
        self.expired = 0
        self.timeout: float | None = None
        self.held = ""
        self.released = threading.Event()

    def get(self, path: str) -> Body:
        """Read an object, or a page of a collection: two objects, whatever the limit, or all without one."""
        path, query = urlsplit(path).path, parse_qs(urlsplit(path).query)
        collection, _, name = path.rpartition("/")
        with self._changed:
            if not query:
                return copy.deepcopy(self._found(collection, name))
            begin = int(query.get("continue", ["0"])[0])
            if begin and self.expired:
                self.expired -= 1
                raise ApiRefused("the continue token is too old", status=410)
            items = list(self._collection(path).values())
            if query["limit"] == ["0"]:
                return {"metadata": {}, "items": copy.deepcopy(items)}
            more = {"continue": str(begin + 2)} if begin + 2 < len(items) else {}
            return {"metadata": more, "items": copy.deepcopy(items[begin : begin + 2])}

    def list(self, path: str) -> Sequence[Body]:
        with self._changed:
            return copy.deepcopy(list(self._collection(path).values()))

    def watch(self, path: str, changed: Callable[[str, Body], None], stopped: threading.Event) -> None:
        if path == self.held:
            assert self.released.wait(60)
        with self._changed:
            for body in self._collection(path).values():
                changed("ADDED", copy.deepcopy(body))
            changed("SYNCED", {})
            self._watches.append((path, changed))
        while not stopped.wait(0.01):
            with self._changed:
                self._collection(path)

    def apply(self, path: str, body: Body) -> Body:
        raise NotImplementedError

    def update(self, path: str, body: Body) -> Body:
        collection, _, name = path.removesuffix("/status").rpartition("/")
        with self._changed:
            former = self._found(collection, name)
            if former["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
                raise ApiRefused(f"{name} was changed", status=409)
            if former.get("status") is not None:
                raise ApiRefused("status is immutable", status=422)
            self._put(collection, {**former, "status": body["status"]})
            return self._found(collection, name)

    def delete(self, path: str, *, uid: str | None = None) -> None:
        collection, _, name = path.rpartition("/")
        with self._changed:
            former = self._collection(collection).get(name)
            if former is not None and uid in (None, former["metadata"].get("uid")):
                del self._objects[collection][name]
                self._tell(collection, "DELETED", former)

    def withdraw(self, path: str) -> None:
        """Serve a collection no longer."""
        with self._changed:
            del self._objects[path]
            self._watches = [each for each in self._watches if each[0] != path]

    def put(self, path: str, body: Body) -> None:
        """Create or change an object."""
        with self._changed:
            self._put(path, copy.deepcopy(body))

    def wait_for(self, path: str, condition: Callable[[Body | None], bool]) -> Body | None:
        """Wait until the object (None: it is gone) is so."""
        collection, _, name = path.rpartition("/")
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self._objects[collection].get(name)), timeout=60)
            return copy.deepcopy(self._objects[collection].get(name))

    def _put(self, path: str, body: Body) -> None:
        self._version += 1
        name = body["metadata"]["name"]
        new = name not in self._collection(path)
        self._objects[path][name] = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        self._tell(path, "ADDED" if new else "MODIFIED", self._objects[path][name])

    def _tell(self, path: str, type_: str, body: Body) -> None:
        for collection, changed in self._watches:
            if collection == path:
                changed(type_, copy.deepcopy(body))
        self._changed.notify_all()

    def _collection(self, path: str) -> dict[str, Body]:
        if path not in self._objects:
            raise ApiRefused(f"the server could not find {path}", status=404)
        return self._objects[path]

    def _found(self, path: str, name: str) -> Body:
        found = self._collection(path).get(name)
        if found is None:
            raise ApiRefused(f"{name} not found", status=404)
        return found
