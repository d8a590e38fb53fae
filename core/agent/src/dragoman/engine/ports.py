"""What the engine needs of the outside. Edges and the shipped fakes satisfy these Protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dragoman.model.claims import Claim, ClaimRef, NodeClaimsRead
from dragoman.model.records import AllocationKey
from dragoman.model.slices import PoolSpec
from dragoman.model.status import ClaimStatus, Event
from dragoman_hookspecs import Attached, ContainerEdits, JsonObject, Link, Netns


class ClaimSource(Protocol):
    """Reads claims by name."""

    async def read(self, ref: ClaimRef) -> Claim:
        """Read the claim and compare its UID.

        Raises ``ClaimNotFound``, ``ClaimReplaced`` or ``Unavailable``.
        """


class NodeClaims(Protocol):
    """Reads all claims that pods of this node reference: for a ledger that was lost."""

    async def of_node(self) -> NodeClaimsRead:
        """Read them. One that cannot be read does not hide the others. Raises ``Unavailable`` or ``Refused``."""


class ClaimStatusSink(Protocol):
    """Writes this driver's entries of ``status.devices``."""

    async def write(self, status: ClaimStatus) -> None:
        """Apply the entries, with the claim's UID as precondition; entries no longer given are taken back.

        A claim that is gone, was replaced, or no longer has the device allocated is not an error: there is nobody to
        tell. Raises ``Unavailable`` or ``Refused``, or ``NotKept`` where the server drops device status.
        """


class SliceSink(Protocol):
    """Makes the API server's slices of this node and driver equal to what is wanted."""

    async def publish(self, pool: PoolSpec) -> Sequence[str]:
        """Write what differs, and keep it so until the next call.

        Returns warnings: fields that the server dropped, by device and name. Raises ``Unavailable`` or ``Refused``
        (a slice was refused with 422: the others are published, and it is not tried again until the pool changes).
        """


class EventSink(Protocol):
    """Writes Kubernetes events. Never raises; events are best effort."""

    async def emit(self, event: Event) -> None:
        """Write the event, or count it with an equal earlier one."""


class PodClaim(Protocol):
    """A device of a pod as the kubelet's pod-resources socket shows it."""

    @property
    def claim_namespace(self) -> str:
        """Namespace of the claim."""

    @property
    def claim_name(self) -> str:
        """Name of the claim."""

    @property
    def driver(self) -> str:
        """Driver of the device."""

    @property
    def pool(self) -> str:
        """Pool of the device."""

    @property
    def device(self) -> str:
        """Name of the device."""

    @property
    def share_id(self) -> str:
        """Share, or ""."""


class PodResources(Protocol):
    """The kubelet's pod-resources socket."""

    async def devices_of(self, namespace: str, pod: str) -> Sequence[PodClaim]:
        """List the dynamic resources of a pod. Raises ``Unavailable``."""


class Links(Protocol):
    """The host side of links: what core itself does with them, over the kit."""

    async def netns(self, path: str) -> Netns:
        """Name the namespace behind a path, with its cookie.

        Raises ``FileNotFoundError`` where there is none, or ``DeviceError`` where the kernel cannot be asked.
        """

    async def same_netns(self, netns: Netns) -> bool:
        """Tell whether the path still names the namespace with that cookie. Raises ``DeviceError``."""

    async def snapshot(self, link: Link) -> JsonObject:
        """Read the host side of a link: name, identity, up, MTU, MAC, addresses, routes, rules, neighbours.

        Raises ``LinkMissing``, or ``ForeignLink`` where the name belongs to another device.
        """

    async def interfaces(self, netns: Netns) -> Sequence[str]:
        """List the interface names inside a namespace."""

    async def find_inside(self, link: Link, netns: Netns) -> tuple[JsonObject, Attached] | None:
        """Find a link inside a namespace by its identity; None where it, or the namespace, is not there.

        Gives a snapshot of its host side as far as the kernel still knows it, and what the pod sees.
        Raises ``ForeignLink`` where several links claim the identity, or ``DeviceError``.
        """

    async def restore(self, snapshot: JsonObject, netns: Netns | None) -> None:
        """Bring a link back to the host from a namespace, or wherever the kernel put it, and make it as it was.

        A link that is gone is success. Raises ``ForeignLink`` or ``DeviceError``.
        """

    async def protected(self) -> frozenset[str]:
        """List the host links that must not be published as exclusive.

        They are the uplinks of default routes, in every table and family, and all links that these are made of.
        """


class CdiFiles(Protocol):
    """CDI specs of this driver's devices and guards. What meets a bad disk raises a ``DragomanError``."""

    def device_id(self, key: AllocationKey) -> str:
        """Give the CDI id of a device. It is the first id of its answer and carries its health identity."""

    def guard_id(self, key: AllocationKey) -> str:
        """Give the CDI id of a guard."""

    async def write_device(self, key: AllocationKey, edits: ContainerEdits) -> None:
        """Write the device's spec, atomically; writing the same again changes nothing."""

    async def open_guard(self, key: AllocationKey, netns: Netns) -> None:
        """Write the guard's spec: one read-only mount of the namespace handle."""

    async def close_guard(self, key: AllocationKey) -> None:
        """Remove the guard's spec; absent is success."""

    async def remove(self, key: AllocationKey) -> None:
        """Remove device and guard; absent is success."""

    def file_names(self, key: AllocationKey) -> frozenset[str]:
        """Give the names of the files that belong to an allocation."""

    async def present(self) -> Sequence[str]:
        """List the file names of this driver's specs, to find those that no row names."""

    async def remove_file(self, name: str) -> None:
        """Remove one file that ``present`` listed."""
