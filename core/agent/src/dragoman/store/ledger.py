"""The ledger: allocations and attachments in SQLite. Each method is one durable transaction unless it only reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman_hookspecs import DragomanError


class LedgerTooNew(DragomanError):
    """The file was written by a newer minor release."""


class Ledger:
    """Opened by ``Ledger.open``; used from one thread. Reads come from memory, writes are on disk when they return."""

    @classmethod
    def open(cls, folder: Path, boot_id: str) -> Ledger:
        """Open or create ``ledger.db`` in the folder.

        A corrupt file is set aside as ``ledger.db.corrupt-<n>`` and an empty ledger takes its place:
        ``rebuilt`` is then True. A changed boot id drops attachment rows: ``rebooted`` is then True.
        Raises ``LedgerTooNew``.
        """
        raise NotImplementedError

    rebuilt: bool
    rebooted: bool

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError

    def allocations(self) -> Sequence[AllocationRow]:
        """List all rows, ordered by claim UID and position."""
        raise NotImplementedError

    def of_claim(self, claim_uid: str) -> Sequence[AllocationRow]:
        """List the rows of a claim by position."""
        raise NotImplementedError

    def of_device(self, device: str) -> Sequence[AllocationRow]:
        """List the rows of a device, shares included."""
        raise NotImplementedError

    def of_pod(self, pod_uid: str) -> Sequence[AllocationRow]:
        """List the rows whose claim is reserved for a pod, by claim UID and position."""
        raise NotImplementedError

    def allocation(self, key: AllocationKey) -> AllocationRow | None:
        """Find one row."""
        raise NotImplementedError

    def put_allocations(self, rows: Sequence[AllocationRow]) -> None:
        """Insert or replace rows in one transaction. Raises ``IllegalTransition`` and then writes none.

        A row in an unchanged state may change its contents.
        """
        raise NotImplementedError

    def delete_allocations(self, keys: Sequence[AllocationKey]) -> None:
        """Delete rows in one transaction; absent is success. Raises ``IllegalTransition``, also for attached rows."""
        raise NotImplementedError

    def attachments(self) -> Sequence[AttachmentRow]:
        """List all rows."""
        raise NotImplementedError

    def attachments_of(self, key: AllocationKey) -> Sequence[AttachmentRow]:
        """List the attachments of an allocation (at most one by rule; more only while one is on its way back)."""
        raise NotImplementedError

    def attachments_in(self, sandbox_id: str) -> Sequence[AttachmentRow]:
        """List the attachments of a sandbox, in the order in which they were attached."""
        raise NotImplementedError

    def put_attachments(self, rows: Sequence[AttachmentRow]) -> None:
        """As ``put_allocations``."""
        raise NotImplementedError

    def delete_attachments(self, keys: Sequence[AttachmentKey]) -> None:
        """As ``delete_allocations``."""
        raise NotImplementedError

    def meta(self, key: str) -> str | None:
        """Read a value of the small table of facts (driver name of the last start, and the like)."""
        raise NotImplementedError

    def set_meta(self, key: str, value: str) -> None:
        """Write one."""
        raise NotImplementedError
