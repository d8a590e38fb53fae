"""CDI specs of devices and guards on disk.

A device has one spec (class ``device``), written at prepare; its id is the first of the answer and so carries the
health identity of the device in the pod's status. Its guard (class ``guard``) is named in the same answer, but its spec
is written only after the attach: until then the runtime cannot resolve the name and refuses to create the container.
The guard mounts the handle of the network namespace, so a spec left over from a dead sandbox stays closed as well.

No spec has to outlive the power: a reboot may empty the folder anyhow, and recovery writes all of them again before a
container can need one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.model.records import AllocationKey
from dragoman_hookspecs import ContainerEdits, DragomanError, Mount, Netns
from dragoman_kit import cdi, files

GUARD_MOUNT = "/run/dragoman/netns"
"""Where a container finds the handles of its own network namespace, one file for each device."""


class CdiFault(DragomanError):
    """A CDI spec could not be written or removed (disk full, read-only, permission)."""


def device_name(key: AllocationKey) -> str:
    """Give the CDI device name of an allocation. All parts are DNS labels, so the dots keep it unambiguous."""
    parts = [key.claim_uid, *key.request.split("/"), key.device]
    return ".".join([*parts, key.share_id] if key.share_id else parts)


class CdiFolder:
    """The specs of this driver in the runtime's folder of CDI specs. What touches the disk raises ``CdiFault``."""

    def __init__(self, folder: Path, driver: str) -> None:
        self._folder = folder
        self._driver = driver

    def device_id(self, key: AllocationKey) -> str:
        """Give the CDI id of a device."""
        return cdi.qualified(self._driver, "device", device_name(key))

    def guard_id(self, key: AllocationKey) -> str:
        """Give the CDI id of a guard."""
        return cdi.qualified(self._driver, "guard", device_name(key))

    async def write_device(self, key: AllocationKey, edits: ContainerEdits) -> None:
        """Write the device's spec, atomically; writing the same again changes nothing."""
        # A device without edits is invalid for CDI, so one variable is always set.
        variable = "DRA_DEVICE_" + "".join(c if c.isalnum() else "_" for c in key.device).upper()
        edits = ContainerEdits(
            env={variable: key.request, **edits.env}, device_nodes=edits.device_nodes, mounts=edits.mounts
        )
        self._write("device", key, edits)

    async def open_guard(self, key: AllocationKey, netns: Netns) -> None:
        """Write the guard's spec: one read-only mount of the namespace handle."""
        target = f"{GUARD_MOUNT}/{_digest(key)}"
        self._write("guard", key, ContainerEdits(mounts=(Mount(host_path=netns.path, container_path=target),)))

    async def close_guard(self, key: AllocationKey) -> None:
        """Remove the guard's spec; absent is success."""
        self._remove(self._path("guard", key))

    async def remove(self, key: AllocationKey) -> None:
        """Remove device and guard; absent is success."""
        self._remove(self._path("guard", key))
        self._remove(self._path("device", key))

    def file_names(self, key: AllocationKey) -> frozenset[str]:
        """Give the names of the files that belong to an allocation."""
        return frozenset(self._path(class_, key).name for class_ in ("device", "guard"))

    async def present(self) -> Sequence[str]:
        """List the file names of this driver's specs."""
        prefixes = (f"{self._driver}-device_", f"{self._driver}-guard_")
        with _told(self._folder, "listed"):
            names = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        return sorted(name for name in names if name.startswith(prefixes))

    async def remove_file(self, name: str) -> None:
        """Remove one file that ``present`` listed."""
        self._remove(self._folder / name)

    def _write(self, class_: str, key: AllocationKey, edits: ContainerEdits) -> None:
        content = cdi.spec(self._driver, class_, {device_name(key): edits})
        path = self._path(class_, key)
        with _told(path, "written"):
            files.write_atomic(path, content, durable=False)

    @staticmethod
    def _remove(path: Path) -> None:
        with _told(path, "removed"):
            files.remove(path, durable=False)

    def _path(self, class_: str, key: AllocationKey) -> Path:
        # The full name can be longer than a file name may be; the digest stands for it.
        return self._folder / f"{self._driver}-{class_}_{key.claim_uid}_{_digest(key)}.json"


@contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CdiFault(f"{path} cannot be {what}: {error}; check the folder of CDI specs (paths.cdiDir)") from error


def _digest(key: AllocationKey) -> str:
    return hashlib.sha256(device_name(key).encode()).hexdigest()[:16]
