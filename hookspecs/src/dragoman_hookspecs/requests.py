"""The one frozen argument of each hook. They can grow: a hook reads the fields that it knows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dragoman_hookspecs.allocations import Allocation, JsonObject, Netns, Record
from dragoman_hookspecs.devices import Device
from dragoman_hookspecs.errors import DragomanError
from dragoman_hookspecs.results import HealthReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplySettings:
    """Old and new settings, both of the descriptor's settings class."""

    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchDevices:
    """``changed()`` hints that a scan is due and may be called from any thread; return soon after ``stopped``."""

    changed: Callable[[], None]
    stopped: threading.Event


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfig:
    """The device and the allocation that would be made of it; ``allocation.parameters`` is the configuration."""

    device: Device
    allocation: Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDevice:
    """The allocation to plan for."""

    allocation: Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupDevice:
    """The allocation, and the plan as ``plan_device`` gave it (an empty object where the hook is absent)."""

    allocation: Allocation
    plan: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachDevice:
    """The record, with the snapshot of the link's host side, and the pod's network namespace."""

    record: Record
    netns: Netns


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachDevice:
    """The record, and the network namespace, or None once it is gone."""

    record: Record
    netns: Netns | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeDevice:
    """The record; ``record.prepared`` is None where setup never answered."""

    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverDevices:
    """Prepared records of this manager: all at start, some on demand.

    ``complete`` tells that these are all: what the manager made and no record names may be deleted.
    """

    records: Sequence[Record]
    complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchHealth:
    """``report`` takes the health of one or more devices and may be called from any thread."""

    report: Callable[[Sequence[HealthReport]], None]
    stopped: threading.Event


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeDevice:
    """The record to describe."""

    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataClaim:
    """The claim that a writer writes for.

    ``pod_claim_name`` is the name under ``pod.spec.resourceClaims`` for a claim made from a template, else None.
    It is a DNS label: core refuses anything else before it gets here.
    """

    uid: str
    namespace: str
    name: str
    pod_claim_name: str | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataDevice:
    """One device of the claim with all that may be told of it.

    ``request`` is the full reference. ``attributes`` are those published for the device, ``pool`` and
    ``deviceManager`` among them, and those of ``device_metadata`` (which win). Bare names are of the driver's domain.
    """

    request: str
    driver: str
    pool: str
    device: str
    share_id: str | None
    attributes: JsonObject
    network_data: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteMetadata:
    """All devices of one claim, in the order of the allocation. Attribute values are in API form."""

    claim: MetadataClaim
    devices: Sequence[MetadataDevice]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveMetadata:
    """The claim whose files go away."""

    claim_uid: str


class Cluster(Protocol):
    """Raw access to the API server for controllers. Objects are JSON objects; paths are API paths.

    Every call raises ``ApiRefused`` with the HTTP status for what the API server refuses (404: there is no such object,
    or the kind is not served; 409: it was changed or replaced; 422: not valid), and ``DragomanError`` where it does not
    answer. All may be called from any thread.
    """

    def get(self, path: str) -> JsonObject:
        """Read one object, or what a path with a query names, such as one page of a collection."""

    def list(self, path: str) -> Sequence[JsonObject]:
        """Read all objects of a collection."""

    def watch(self, path: str, changed: Callable[[str, JsonObject], None], stopped: threading.Event) -> None:
        """Follow a collection: ``changed(type, object)`` for each event, until ``stopped``.

        It begins with ``ADDED`` for every object that exists, then one ``SYNCED`` with an empty object; after that come
        ``ADDED``, ``MODIFIED`` and ``DELETED``. A connection that is lost is made again here: what went meanwhile comes
        as ``DELETED``.
        """

    def apply(self, path: str, body: JsonObject) -> JsonObject:
        """Server-side apply with the controller's name as field manager."""

    def update(self, path: str, body: JsonObject) -> JsonObject:
        """Replace an object, or its status where ``path`` ends in ``/status``; its resourceVersion must still hold."""

    def delete(self, path: str, *, uid: str | None = None) -> None:
        """Delete an object, with a UID only that very one; an object that is gone is no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunController:
    """Access to the cluster; return soon after ``stopped``.

    ``metrics(text)`` has a function called for each read of ``/metrics``; it gives metrics in the text format of
    Prometheus, from any thread. The last one that was given counts.

    ``ready(reason)`` does the same for ``/readyz``: the function says why the controller is not ready yet, such as
    lists that it still reads, or "" once it is. A controller that gives none is ready once it runs.
    """

    cluster: Cluster
    stopped: threading.Event
    metrics: Callable[[Callable[[], str]], None] = lambda _: None
    ready: Callable[[Callable[[], str]], None] = lambda _: None


class Connect(Protocol):
    """Opens an API server: the path of a kubeconfig and the name of a context in it, or None for either.

    ``request_timeout``: seconds that one request may take, and an exec plugin of the kubeconfig; None for 60.
    """

    def __call__(
        self, kubeconfig: Path | None, context: str | None, /, request_timeout: float | None = None
    ) -> AbstractContextManager[Cluster]:
        """Open it. Raises ``DragomanError``."""


def _nowhere(
    kubeconfig: Path | None, context: str | None, /, request_timeout: float | None = None
) -> AbstractContextManager[Cluster]:
    raise DragomanError("this program connects to no API server")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterCommands:
    """``add(command)`` adds one ``click.Command`` to the ``dragoman`` program.

    ``connect(kubeconfig, context)`` opens the API server that a command was pointed to: a context manager that gives a
    ``Cluster``. Neither given: what the settings, the environment or the pod say. It raises ``DragomanError`` without
    a usable configuration. With ``request_timeout`` it gives up a request after so many seconds; what takes more than
    five is told on standard error.
    """

    add: Callable[[Any], None]
    connect: Connect = _nowhere
