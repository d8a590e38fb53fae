"""What the pieces of the engine share, and how rows become what hooks see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from dragoman.clock import Clock
from dragoman.engine.former import FormerClaims
from dragoman.engine.ports import CdiFiles, EventSink, Links
from dragoman.engine.waiting import Changes, KeyedLocks, SharedLocks
from dragoman.hooks import Hooks, PluginMissing
from dragoman.model import parameters
from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.store.ledger import Ledger
from dragoman_hookspecs import Allocation, InvalidConfig, Parameters, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The engine's surroundings. ``pool`` is the name of the node, which names its pool of devices as well.

    ``rows_changed`` tells the publisher that allocations came or went; ``came_late`` the kubelet which devices are in
    their pods now, whose containers may have been refused before; ``returned`` the inventory which allocations end now.
    ``freed`` wakes those who wait for a device; ``ended`` wakes sandboxes whose device is attached elsewhere.
    ``managers`` is held together, by type, by all that changes a device of a manager, and alone by what needs a
    complete view of these. ``former`` are the claims that a lost ledger knew.
    """

    driver: str
    pool: str
    ledger: Ledger
    hooks: Hooks
    links: Links
    cdi: CdiFiles
    clock: Clock
    events: EventSink
    rows_changed: Callable[[], None] = lambda: None
    came_late: Callable[[Iterable[str]], None] = lambda _: None
    returned: Callable[[Sequence[AllocationRow]], None] = lambda _: None
    freed: Changes = field(default_factory=Changes)
    ended: Changes = field(default_factory=Changes)
    locks: KeyedLocks = field(default_factory=KeyedLocks)
    managers: SharedLocks = field(default_factory=SharedLocks)
    former: FormerClaims = field(default_factory=FormerClaims)

    def allocation(self, row: AllocationRow) -> Allocation:
        """Give the allocation as hooks see it."""
        return Allocation(
            claim_uid=row.claim.uid,
            claim_namespace=row.claim.namespace,
            claim_name=row.claim.name,
            request=row.key.request,
            pool=row.key.pool,
            device=row.device,
            share_id=row.key.share_id or None,
            consumed_capacity=dict(row.consumed_capacity),
            parameters=self._parameters(row),
            admin_access=row.admin_access,
        )

    def record(self, row: AllocationRow, attachment: AttachmentRow | None = None) -> Record:
        """Give the record as hooks see it: a copy, as a plugin may change in place what it is given."""
        return Record(
            allocation=self.allocation(row),
            plan=deepcopy(row.plan),
            prepared=deepcopy(row.prepared),
            state_version=row.plugin_version,
            snapshot=deepcopy(attachment.snapshot) if attachment else None,
            attached=deepcopy(attachment.attached) if attachment else None,
        )

    def _parameters(self, row: AllocationRow) -> Parameters:
        try:
            own = self.hooks.manager(row.manager).parameters
        except PluginMissing:
            own = None
        try:
            return parameters.decode(row.parameters, own)
        except InvalidConfig:
            # The plugin was replaced by one with another schema, or is gone, or the rules of this release are others.
            # What was prepared must still be recovered, detached and freed: the common parameters are enough for that.
            return parameters.decode_known(row.parameters)
