"""What is reported of a prepared device in ``status.devices`` of its claim, and as an event."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.model.claims import ClaimRef
from dragoman_hookspecs import JsonObject, NetworkData


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition; ``status`` is ``True``, ``False`` or ``Unknown``. The sink keeps or sets ``lastTransitionTime``."""

    type: str
    status: str
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStatus:
    """One entry of ``status.devices``."""

    driver: str
    pool: str
    device: str
    share_id: str | None
    conditions: tuple[Condition, ...]
    data: JsonObject
    network_data: NetworkData | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStatus:
    """All entries of this driver for one claim; an empty tuple takes them back."""

    claim: ClaimRef
    devices: tuple[DeviceStatus, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What an event is about: ``kind`` is ``Pod`` or ``ResourceClaim``."""

    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A Kubernetes event; ``reason`` is CamelCase, ``warning`` tells Warning from Normal."""

    subject: Subject
    reason: str
    message: str
    warning: bool = True
