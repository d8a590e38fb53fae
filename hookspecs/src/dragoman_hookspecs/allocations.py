"""What happens to a device that a claim was given: parameters, allocation, prepared device, attachment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman_hookspecs.devices import AttributeValue, Device

JsonObject = dict[str, Any]
"""A JSON object: plain dicts, lists, strings, numbers, booleans and None, so that it survives the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route of the device inside the pod; ``destination`` is a CIDR or ``default``.

    ``gateway`` None means on-link. ``metric`` is the kernel's priority.
    """

    destination: str
    gateway: str | None = None
    source: str | None = None
    metric: int | None = None
    table: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The effective opaque parameters of one device: class first, then claim, key by key, checked against the kind.

    JSON names are the camelCase forms (``podIfName``, ``interfaceSysctlIPv4``). ``own`` is an object of the class that
    the manager's descriptor names in ``parameters``, or None where it names none.
    """

    pod_if_name: str | None = None
    vlan: int | None = None
    mtu: int | None = None
    mac: str | None = None
    addresses: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()
    interface_sysctl_ipv4: Mapping[str, str] = field(default_factory=dict)
    interface_sysctl_ipv6: Mapping[str, str] = field(default_factory=dict)
    inherit: tuple[str, ...] = ()
    own: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """One device of one claim, as the scheduler allocated it.

    Whether it is a share is told by ``share_id`` alone, never by the device's present sharing flag: the flag may have
    changed since. ``request`` is the full reference (``request`` or ``request/subrequest``). ``device`` is the device
    as it was last known when the claim was prepared. ``consumed_capacity`` maps qualified names to quantities.
    """

    claim_uid: str
    claim_namespace: str
    claim_name: str
    request: str
    pool: str
    device: Device
    share_id: str | None = None
    consumed_capacity: Mapping[str, str] = field(default_factory=dict)
    parameters: Parameters = field(default_factory=Parameters)
    admin_access: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The prepared device is a host interface that will be moved into the pod.

    ``name`` is its name on the host now; ``identity`` is compared with the kernel before every move.
    """

    name: str
    identity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InPlace:
    """The prepared device is an interface that the pod has already, e.g. ``eth0``; nothing is moved or renamed."""

    name: str


Target = Link | InPlace | None
"""What attach acts on; None where nothing is attached (a device node, say)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Result of ``setup_device``: JSON-able state that the other hooks get back, and what will be attached."""

    state: JsonObject = field(default_factory=dict)
    target: Target = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Netns:
    """A network namespace: path of its handle as this process can open it, and its identity.

    ``cookie`` is ``"<device>:<inode>"`` of the handle and tells whether the path still names the same namespace.
    """

    path: str
    cookie: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """Result of ``attach_device``: what the pod sees. ``ips`` are in canonical CIDR form."""

    interface: str
    mac: str | None = None
    ips: tuple[str, ...] = ()
    state: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A device that the ledger holds: everything its manager needs to go on, also after a restart.

    ``plan`` is what ``plan_device`` gave. ``prepared`` is None while setup has not answered: free then has only the
    plan. ``state_version`` is the version of the distribution that wrote the state. ``snapshot`` is the host side of
    the link before it was moved; ``attached`` what attach answered; both None while not attached. A snapshot alone: the
    device may be inside a pod, as an attach has not ended or could not be undone.
    """

    allocation: Allocation
    plan: JsonObject = field(default_factory=dict)
    prepared: Prepared | None = None
    state_version: str = ""
    snapshot: JsonObject | None = None
    attached: Attached | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkData:
    """``networkData`` of claim status and metadata; limits: 256 bytes, 128 bytes, 16 addresses."""

    interface_name: str | None = None
    hardware_address: str | None = None
    ips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a workload is told of a device beside its published attributes."""

    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    network_data: NetworkData | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceNode:
    """A device node for the container (CDI ``deviceNodes``)."""

    path: str
    host_path: str | None = None
    permissions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A bind mount for the container (CDI ``mounts``)."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = ("ro", "bind")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEdits:
    """What a container gets beside the interface; becomes part of the device's CDI spec."""

    env: Mapping[str, str] = field(default_factory=dict)
    device_nodes: tuple[DeviceNode, ...] = ()
    mounts: tuple[Mount, ...] = ()
