"""The kubelet's memory of claims, and its checkpoint."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.model.claims import ClaimRef, PreparedDevice


@dataclass(slots=True, kw_only=True)
class Entry:
    """A claim: the pods that use it, and each of its drivers with the devices that it returned.

    ``prepared`` is not in the checkpoint: a kubelet that starts again prepares once more, for the next sandbox.
    """

    ref: ClaimRef
    pods: set[str] = field(default_factory=set)
    drivers: dict[str, list[PreparedDevice]] = field(default_factory=dict)
    prepared: bool = False
    unpreparing: bool = False

    def devices(self) -> Iterator[tuple[str, PreparedDevice]]:
        """Give each device with its driver."""
        return ((driver, device) for driver, devices in self.drivers.items() for device in devices)


class ClaimCache:
    """Entries by namespace and name, written to a file before and after the calls that change them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[tuple[str, str], Entry] = {}
        if path.exists():
            for item in json.loads(path.read_text(encoding="utf-8")):
                self._put(_load(item))

    def get(self, ref: ClaimRef) -> Entry | None:
        """Give the entry of that namespace and name, whatever its UID."""
        return self._entries.get((ref.namespace, ref.name))

    def add(self, ref: ClaimRef, drivers: Mapping[str, Any], pod_uid: str) -> Entry:
        """Note that a pod uses the claim."""
        entry = self.get(ref) or self._put(Entry(ref=ref, drivers={driver: [] for driver in drivers}))
        entry.pods.add(pod_uid)
        return entry

    def remove(self, entry: Entry) -> None:
        """Forget the claim."""
        self._entries.pop((entry.ref.namespace, entry.ref.name), None)

    def save(self) -> None:
        """Write the checkpoint."""
        self._path.write_text(json.dumps([_dump(entry) for entry in self._entries.values()]), encoding="utf-8")

    def _put(self, entry: Entry) -> Entry:
        self._entries[entry.ref.namespace, entry.ref.name] = entry
        return entry


def _dump(entry: Entry) -> dict[str, Any]:
    drivers = {driver: [dataclasses.asdict(device) for device in found] for driver, found in entry.drivers.items()}
    return {"ref": dataclasses.asdict(entry.ref), "pods": sorted(entry.pods), "drivers": drivers}


def _load(item: Mapping[str, Any]) -> Entry:
    drivers = {driver: [_device(device) for device in devices] for driver, devices in item["drivers"].items()}
    return Entry(ref=ClaimRef(**item["ref"]), pods=set(item["pods"]), drivers=drivers)


def _device(item: Mapping[str, Any]) -> PreparedDevice:
    fields = {**item, "requests": tuple(item["requests"]), "cdi_device_ids": tuple(item["cdi_device_ids"])}
    return PreparedDevice(**fields)
