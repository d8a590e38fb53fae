"""The slices of this node and driver as the server has them: from lists, watches and own writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from dragoman.kube.slice_plan import StoredSlice


class SliceObject(msgspec.Struct):
    """A ResourceSlice as it came."""

    metadata: dict[str, Any] | None = None
    spec: dict[str, Any] | None = None

    def stored(self) -> StoredSlice:
        """Give it as the planner wants it; who manages which field is of no use and large."""
        metadata = {key: value for key, value in (self.metadata or {}).items() if key != "managedFields"}
        return StoredSlice(metadata=metadata, spec=self.spec or {})


class SliceList(msgspec.Struct):
    """A list of slices."""

    metadata: dict[str, Any] | None = None
    items: list[SliceObject] | None = None

    @property
    def resource_version(self) -> str:
        """The version from which a watch goes on."""
        return str((self.metadata or {}).get("resourceVersion") or "")


class SliceCache:
    """By name. Own writes are newer than the events that announce them, and stay until the server says otherwise.

    ``changed(deleted)`` is called for each change by another hand.
    """

    def __init__(self, changed: Callable[[bool], None]) -> None:
        self._changed = changed
        self._slices: dict[str, StoredSlice] = {}
        self._deleted: set[str] = set()
        self._held: dict[str, list[tuple[str, StoredSlice]]] = {}

    def all(self) -> Collection[StoredSlice]:
        """Give all of them."""
        return tuple(self._slices.values())

    def find(self, name: str) -> StoredSlice | None:
        """Find one."""
        return self._slices.get(name)

    def replace(self, listed: SliceList) -> None:
        """Take over a list; no write may be under way."""
        stored = [item.stored() for item in listed.items or ()]
        self._slices = {slice_.name: slice_ for slice_ in stored}
        self._deleted.clear()

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """Hold back events of a slice until the answer to an own write is known: they may come first."""
        self._held[name] = []
        try:
            yield
        finally:
            for kind, slice_ in self._held.pop(name):
                self.see(kind, slice_)

    def wrote(self, slice_: StoredSlice) -> None:
        """Take over the answer to an own write."""
        self._slices[slice_.name] = slice_

    def deleted(self, slice_: StoredSlice) -> None:
        """Take over an own deletion."""
        self._slices.pop(slice_.name, None)
        self._deleted.add(slice_.uid)

    def see(self, kind: str, slice_: StoredSlice) -> None:
        """Take over an event: ADDED, MODIFIED or DELETED."""
        held = self._held.get(slice_.name)
        if held is not None:
            held.append((kind, slice_))
            return
        known = self._slices.get(slice_.name)
        same = known is not None and known.uid == slice_.uid
        if kind == "DELETED":
            if same:
                del self._slices[slice_.name]
                self._changed(True)
        elif slice_.uid not in self._deleted and not (same and known is not None and not _newer(slice_, known)):
            self._slices[slice_.name] = slice_
            self._changed(False)


def _newer(one: StoredSlice, other: StoredSlice) -> bool:
    versions = one.resource_version, other.resource_version
    # Resource versions are comparable numbers (guaranteed since Kubernetes 1.35, true before); else every event counts.
    return int(versions[0]) > int(versions[1]) if all(v.isdigit() for v in versions) else versions[0] != versions[1]
