"""DeviceMetadata of metadata.resource.k8s.io (KEP-5304); v1beta1 and v1alpha1 have the same members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

BASE = "/var/run/kubernetes.io/dra-device-attributes"
"""Where a container finds the files."""

KIND = "DeviceMetadata"
GROUP = "metadata.resource.k8s.io"
VERSIONS = ("v1beta1", "v1alpha1")
"""The versions that this distribution knows, newest first."""

SUFFIX = "-metadata.json"

Attribute = Mapping[str, Any]
"""One value: an object with exactly one of int, bool, string, version, ints, bools, strings, versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkData:
    """What the pod sees of a network device; ``ips`` are CIDRs."""

    interface_name: str = ""
    ips: tuple[str, ...] = ()
    hardware_address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One allocated device."""

    driver: str
    pool: str
    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    network_data: NetworkData | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The devices of one request; ``name`` is the full reference (``request`` or ``request/subrequest``)."""

    name: str
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMetadata:
    """The metadata of one claim, as one driver wrote it, or merged over drivers (then without name to generation)."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    pod_claim_name: str = ""
    requests: tuple[Request, ...] = ()

    def devices(self) -> Sequence[Device]:
        """List the devices of all requests."""
        return [device for request in self.requests for device in request.devices]


def relative_path(*, claim: str | None = None, pod_claim: str | None = None, request: str) -> str:
    """Give the folder of a request below the base: of a direct claim, or of one made from a template.

    Only the top-level name of the request is part of the path. Raises ``ValueError`` for a name that is no single path
    component.
    """
    kind, name = ("resourceclaims", claim) if claim is not None else ("resourceclaimtemplates", pod_claim)
    parts = [kind, name or "", request.partition("/")[0]]
    for part in parts[1:]:
        if part in {"", ".", ".."} or "/" in part or "\0" in part:
            raise ValueError(f"{part!r} cannot be the name of a claim or request")
    return "/".join(parts)
