"""The rows of the ledger. They are self-sufficient: unprepare and recovery need nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.model.claims import ClaimRef, Consumer
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import Attached, Device, JsonObject, Netns, Prepared


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class AllocationKey:
    """Primary key of an allocation. ``share_id`` is "" for a dedicated device."""

    claim_uid: str
    request: str
    driver: str
    pool: str
    device: str
    share_id: str = ""

    def __str__(self) -> str:
        share = f" share {self.share_id}" if self.share_id else ""
        return f"device {self.device}{share} of request {self.request} of claim {self.claim_uid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationRow:
    """An allocation that this node prepared, or is preparing or freeing.

    ``manager`` is the manager's type, ``distribution`` and ``plugin_version`` the distribution that wrote the state.
    ``device`` is the advertised device at prepare time, ``parameters`` the effective parameters as JSON.
    ``position`` orders the rows of a claim as the allocation does. ``failure`` is the last failed free or detach.
    """

    key: AllocationKey
    claim: ClaimRef
    position: int
    state: AllocationState
    manager: str
    distribution: str
    plugin_version: str
    device: Device
    parameters: JsonObject = field(default_factory=dict)
    consumed_capacity: Mapping[str, str] = field(default_factory=dict)
    admin_access: bool = False
    logical_pool: str | None = None
    reserved_for: tuple[Consumer, ...] = ()
    pod_claim_name: str | None = None
    plan: JsonObject = field(default_factory=dict)
    prepared: Prepared | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class AttachmentKey:
    """Primary key of an attachment."""

    allocation: AllocationKey
    sandbox_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRow:
    """An allocation in a sandbox, or on its way in or out.

    ``snapshot`` is the host side of the link before the move (None for a device that is used in place).
    """

    key: AttachmentKey
    state: AttachmentState
    pod_uid: str
    pod_namespace: str
    pod_name: str
    netns_path: str
    netns_cookie: str
    snapshot: JsonObject | None = None
    attached: Attached | None = None
    failure: str = ""

    @property
    def netns(self) -> Netns:
        """The network namespace of the sandbox."""
        return Netns(path=self.netns_path, cookie=self.netns_cookie)


def are_prepared(rows: Sequence[AllocationRow]) -> bool:
    """Tell whether a claim, of which these are all rows, is prepared as a whole."""
    return bool(rows) and all(row.state is AllocationState.PREPARED for row in rows)
