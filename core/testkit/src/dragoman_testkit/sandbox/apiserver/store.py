"""Objects, and the log of their changes from which watches are fed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.errors import expired
from dragoman_testkit.sandbox.apiserver.resources import Resource

_LOG = 20_000

Key = tuple[str, str]
"""Namespace ("" for cluster-wide kinds) and name."""


@dataclass(frozen=True, slots=True)
class Change:
    """One write: ``old`` is None for a new object, ``gone`` tells a removal (``new`` is then its last form)."""

    version: int
    resource: Resource
    old: JsonObject | None
    new: JsonObject
    gone: bool = False


class Store:
    """In memory; used from one event loop. Stored objects are never changed in place."""

    def __init__(self) -> None:
        self.version = 1000
        self.compacted = 0
        self._objects: dict[str, dict[Key, JsonObject]] = {}
        self._log: list[Change] = []
        self._waiters: list[asyncio.Future[None]] = []

    def get(self, resource: Resource, key: Key) -> JsonObject | None:
        """Find one object."""
        return self._objects.get(resource.full_name, {}).get(key)

    def all(self, resource: Resource) -> Iterable[JsonObject]:
        """List the objects of a kind by namespace and name."""
        return [obj for _, obj in sorted(self._objects.get(resource.full_name, {}).items())]

    def put(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """Store an object under the next version and tell the watches."""
        stored = self._stamped(obj)
        objects = self._objects.setdefault(resource.full_name, {})
        old = objects.get(key_of(stored))
        objects[key_of(stored)] = stored
        self._append(Change(self.version, resource, old, stored))
        return stored

    def remove(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """Remove an object; its last form carries the version of the removal."""
        last = self._stamped(obj)
        old = self._objects[resource.full_name].pop(key_of(obj))
        self._append(Change(self.version, resource, old, last, gone=True))
        return last

    def since(self, version: int) -> list[Change]:
        """Give the changes after a version. Raises ``ApiFault`` 410 when they are compacted."""
        if version < self.compacted:
            raise expired(version, self.compacted)
        return [change for change in self._log if change.version > version]

    def compact(self) -> None:
        """Forget the log: watches from an earlier version are refused."""
        self.compacted = self.version
        self._log.clear()

    async def wait(self, version: int) -> None:
        """Return once there is a change after that version, or on ``wake``."""
        if self.version > version:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        try:
            await future
        finally:
            if future in self._waiters:
                self._waiters.remove(future)

    def wake(self) -> None:
        """Let every waiter look again."""
        waiters, self._waiters = self._waiters, []
        for future in waiters:
            if not future.done():
                future.set_result(None)

    def _stamped(self, obj: JsonObject) -> JsonObject:
        self.version += 1
        return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}

    def _append(self, change: Change) -> None:
        self._log.append(change)
        if len(self._log) > _LOG:
            # As etcd does: a watch that is so far behind gets 410.
            del self._log[: _LOG // 2]
            self.compacted = self._log[0].version - 1
        self.wake()


def key_of(obj: JsonObject) -> Key:
    """Give the key of an object."""
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
