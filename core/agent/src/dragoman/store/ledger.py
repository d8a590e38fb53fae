"""The ledger: allocations and attachments in SQLite. Each method is one durable transaction unless it only reads.

Everything runs in the thread that opened the ledger (SQLite refuses another one): there are no locks. A write takes
an fsync, a few milliseconds on common disks. Attachments do without: they end with the boot, as the namespaces do, so
they need to outlive the process, but not the power.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from loguru import logger

from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.states import (
    AllocationState,
    AttachmentState,
    IllegalTransition,
    check_allocation,
    check_attachment,
)
from dragoman.store import files, schema
from dragoman.store.database import Database, FaultPoint
from dragoman.store.errors import LedgerDamaged, LedgerFault, LedgerTooNew
from dragoman.store.rows import ALLOCATIONS, ATTACHMENTS, Damaged, as_bytes, drop
from dragoman.store.tables import Table

__all__ = ["Ledger", "LedgerDamaged", "LedgerFault", "LedgerTooNew"]

_FILE = "ledger.db"
_BOOT_ID, _BOOT_ID_AGAIN = "ledger.boot-id", "ledger.boot-id.again"
"""It stands twice: damaged, it would drop every attachment of pods that run."""
_REBUILDING = "ledger.rebuilding"
"""Stands while rows may be missing: with the UIDs of the claims that lost some, or any text where a file was lost."""


class Ledger:
    """Opened by ``Ledger.open``; used from one thread. Reads come from memory; a write has been made when it returns.

    A row is kept as its document will be read again, so JSON values of a plugin (a tuple, say) are the same before and
    after a restart. Every method raises ``LedgerFault`` once the ledger is closed: an empty answer would be wrong.
    """

    @classmethod
    def open(
        cls, folder: Path, boot_id: str, on_commit: FaultPoint = lambda _: None, *, expected: bool = False
    ) -> Ledger:
        """Open or create ``ledger.db`` in the folder.

        A corrupt file is set aside as ``ledger.db.corrupt-<n>`` and an empty ledger takes its place: it counts as lost,
        as does one that is not there although the node shows that it was (``expected``). Of a whole file a damaged row
        is lost, with its attachment or allocation, and no other. ``rebuilt`` is then True, and stays True over restarts
        until ``finish_rebuild``. A changed boot id drops attachment rows.
        Raises ``LedgerTooNew`` or ``LedgerFault``. ``on_commit`` is called around every commit; see ``FaultPoint``.
        """
        try:
            files.make_folder(folder)
            path = folder / _FILE
            if not path.exists():
                if expected:
                    logger.error("ledger {} is gone although devices were prepared here; an empty one is made", path)
                _create(path, on_commit, lost=expected)
            try:
                return cls(path, boot_id, on_commit)
            except LedgerDamaged as damage:
                logger.error("{}; it was set aside and an empty ledger takes its place", damage)
            _create(path, on_commit, lost=True)
            return cls(path, boot_id, on_commit)
        except OSError as error:
            raise LedgerFault(f"ledger in {folder} cannot be opened: {error}") from error

    rebuilt: bool
    """Rows may be missing; which, is to be found out elsewhere."""

    def __init__(self, path: Path, boot_id: str, on_commit: FaultPoint) -> None:
        self._path = path
        self._closed = False
        self._allocations: Table[AllocationKey, AllocationRow, AllocationState] = Table(
            ALLOCATIONS,
            check_allocation,
            claim=lambda row: [row.key.claim_uid],
            device=lambda row: [row.key.device],
            pod=_pods,
        )
        self._attachments: Table[AttachmentKey, AttachmentRow, AttachmentState] = Table(
            ATTACHMENTS,
            check_attachment,
            allocation=lambda row: [row.key.allocation],
            sandbox=lambda row: [row.key.sandbox_id],
        )
        files.make_private(path)
        self._database = Database(path, on_commit)
        try:
            self._load(boot_id)
        except BaseException as error:
            if isinstance(error, LedgerDamaged):
                # Before SQLite closes: it would fold the log into the broken file and remove it.
                files.set_aside(path)
            with suppress(LedgerFault):
                self._database.close()
            raise

    def _load(self, boot_id: str) -> None:
        self._database.prepare()
        version = schema.upgrade(self._database, self._path)
        schema.verify(self._database, self._path)
        try:
            self._meta = dict(_meta_of(self._database))
            damaged = self._allocations.load(self._database)
            self._enter_boot(boot_id)
            damaged += self._attachments.load(self._database)
            damaged += [
                Damaged("attachments", as_bytes(row.key.allocation), "it has no allocation")
                for row in self._attachments.rows()
                if self._allocations.get(row.key.allocation) is None
            ]
            if damaged and version not in schema.STEPS:
                raise LedgerDamaged(str(damaged[0]))
        except LedgerDamaged as damage:
            if version in schema.STEPS:
                raise
            # What looks broken may be meant for the newer program only: losing it would be worse than not starting.
            raise LedgerTooNew(
                f"ledger {self._path} has schema {version} and cannot be read by this release ({damage}): start the "
                "release that wrote it or a newer one"
            ) from damage
        if damaged:
            self._part_with(damaged)
        self.rebuilt = _REBUILDING in self._meta
        self._partial = _claims_in(self._meta.get(_REBUILDING, ""))

    def _enter_boot(self, boot_id: str) -> None:
        known = {self._meta.get(_BOOT_ID), self._meta.get(_BOOT_ID_AGAIN)}
        if known == {boot_id}:
            return
        with self._database.transaction("enter boot"):
            if boot_id not in known:
                self._database.execute("DELETE FROM attachments")
            for key in (_BOOT_ID, _BOOT_ID_AGAIN):
                self._write_meta(key, boot_id)
        self._meta |= {_BOOT_ID: boot_id, _BOOT_ID_AGAIN: boot_id}

    def _part_with(self, damaged: Sequence[Damaged]) -> None:
        """Drop damaged rows, each with the row that belongs to it; their claims are to be known again elsewhere."""
        for each in damaged:
            logger.error("a row of ledger {} is damaged, and its claim is looked for elsewhere: {}", self._path, each)
        lost = {each.allocation for each in damaged}
        claims = {each.claim_uid for each in damaged} | _claims_in(self._meta.get(_REBUILDING, ""))
        rebuilding = msgspec.json.encode(sorted(claims)).decode()
        with self._database.transaction("part with damaged rows"):
            for key in lost:
                drop(self._database, key)
            self._write_meta(_REBUILDING, rebuilding)
        self._meta[_REBUILDING] = rebuilding
        self._allocations.forget([row.key for row in self._allocations.rows() if as_bytes(row.key) in lost])
        self._attachments.forget([row.key for row in self._attachments.rows() if as_bytes(row.key.allocation) in lost])

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        self._closed = True
        self._database.close()

    @property
    def boot_id(self) -> str:
        """The boot of the host for which the ledger was opened."""
        return str(self._meta[_BOOT_ID])

    def restore(self, allocations: Sequence[AllocationRow], attachments: Sequence[AttachmentRow]) -> None:
        """Insert rows that were lost, as they were found again, in one transaction.

        Raises ``IllegalTransition`` where the ledger is not being rebuilt or has such a row, and what
        ``put_allocations`` raises; then none is written.
        """
        self._usable()
        if not self.rebuilt:
            raise IllegalTransition("rows are found again only for a ledger that was set aside or lost some")
        for row in allocations:
            if self._allocations.get(row.key) is not None:
                raise IllegalTransition(f"{row.key}: the ledger has this allocation already")
        with self._database.transaction("restore"):
            written = self._allocations.write(self._database, allocations)
            attached = self._attachments.write(self._database, attachments)
        self._allocations.take(written)
        self._attachments.take(attached)
        self._partial -= {row.key.claim_uid for row in allocations}

    def knows(self, claim_uid: str) -> bool:
        """Tell whether the rows of a claim are there, and none of them was lost."""
        return bool(self.of_claim(claim_uid)) and claim_uid not in self._partial

    def finish_rebuild(self) -> None:
        """Remember that what was lost has been found again as far as it can be; ``rebuilt`` is then False."""
        self._usable()
        with self._database.transaction("finish_rebuild"):
            self._database.execute("DELETE FROM meta WHERE key=?", (_REBUILDING,))
        self._meta.pop(_REBUILDING, None)
        self.rebuilt, self._partial = False, set()

    def allocations(self) -> Sequence[AllocationRow]:
        """List all rows, ordered by claim UID and position."""
        self._usable()
        return _ordered(self._allocations.rows())

    def of_claim(self, claim_uid: str) -> Sequence[AllocationRow]:
        """List the rows of a claim by position."""
        self._usable()
        return _ordered(self._allocations.group("claim", claim_uid))

    def of_device(self, device: str) -> Sequence[AllocationRow]:
        """List the rows of a device, shares included, by claim UID and position."""
        self._usable()
        return _ordered(self._allocations.group("device", device))

    def of_pod(self, pod_uid: str) -> Sequence[AllocationRow]:
        """List the rows whose claim is reserved for a pod, by claim UID and position."""
        self._usable()
        return _ordered(self._allocations.group("pod", pod_uid))

    def allocation(self, key: AllocationKey) -> AllocationRow | None:
        """Find one row."""
        self._usable()
        return self._allocations.get(key)

    def put_allocations(self, rows: Sequence[AllocationRow]) -> None:
        """Insert or replace rows in one transaction. Raises ``IllegalTransition`` and then writes none.

        A row in an unchanged state may change its contents. Raises ``NotStorable`` where a value is not for JSON, and
        ``LedgerFault``; then nothing is written either.
        """
        self._usable()
        self._allocations.put(self._database, rows)

    def delete_allocations(self, keys: Sequence[AllocationKey]) -> None:
        """Delete rows in one transaction; absent is success. Raises ``IllegalTransition``, also for attached rows."""
        self._usable()
        for key in keys:
            if self._attachments.group("allocation", key):
                raise IllegalTransition(f"{key}: an allocation cannot be deleted while it has an attachment")
        self._allocations.delete(self._database, keys)

    def attachments(self) -> Sequence[AttachmentRow]:
        """List all rows, in the order in which they were attached."""
        self._usable()
        return self._attachments.rows()

    def attachments_of(self, key: AllocationKey) -> Sequence[AttachmentRow]:
        """List the attachments of an allocation (at most one by rule; more only while one is on its way back)."""
        self._usable()
        return self._attachments.group("allocation", key)

    def attachments_in(self, sandbox_id: str) -> Sequence[AttachmentRow]:
        """List the attachments of a sandbox, in the order in which they were attached."""
        self._usable()
        return self._attachments.group("sandbox", sandbox_id)

    def put_attachments(self, rows: Sequence[AttachmentRow]) -> None:
        """As ``put_allocations``. Raises ``IllegalTransition`` also where the allocation has no row."""
        self._usable()
        for row in rows:
            if self._allocations.get(row.key.allocation) is None:
                raise IllegalTransition(f"{row.key.allocation}: there is no such allocation to attach")
        self._attachments.put(self._database, rows)

    def delete_attachments(self, keys: Sequence[AttachmentKey]) -> None:
        """As ``delete_allocations``."""
        self._usable()
        self._attachments.delete(self._database, keys)

    def meta(self, key: str) -> str | None:
        """Read a value of the small table of facts (driver name of the last start, and the like)."""
        self._usable()
        return self._meta.get(key)

    def set_meta(self, key: str, value: str) -> None:
        """Write one."""
        self._usable()
        with self._database.transaction("set_meta"):
            self._write_meta(key, value)
        self._meta[key] = value

    def _write_meta(self, key: str, value: str) -> None:
        self._database.execute(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value=excluded.value",
            (key, value),
        )

    def _usable(self) -> None:
        if self._closed:
            raise LedgerFault(f"ledger {self._path} is closed: another agent is active on this node")


def _create(path: Path, on_commit: FaultPoint, *, lost: bool) -> None:
    """Make an empty ledger beside its place and rename it, so that a file of that name is always a whole ledger."""
    if files.has_stray_log(path):
        files.set_aside(path)
    new = path.with_name(path.name + ".new")
    files.remove(new)
    files.make_private(new)
    database = Database(new, on_commit)
    try:
        # A log would not be renamed together with its file.
        database.prepare(journal="DELETE")
        # A death after a file was set aside leaves only that file to tell of it.
        schema.create(database, {_REBUILDING: "yes"} if lost or files.was_set_aside(path) else {})
    finally:
        database.close()
    new.rename(path)
    files.sync_folder(path.parent)


def _meta_of(database: Database) -> Iterator[tuple[str, str]]:
    for pair in database.query("SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM meta"):
        try:
            key, value = (text.decode() for text in pair)
        except UnicodeDecodeError:
            logger.warning("a fact in the ledger is damaged and is left out: {}", pair)
        else:
            yield key, value


def _claims_in(rebuilding: str) -> set[str]:
    try:
        return msgspec.json.decode(rebuilding, type=set[str])
    except msgspec.MsgspecError:
        return set()


def _pods(row: AllocationRow) -> Iterable[str]:
    return {consumer.uid for consumer in row.reserved_for if consumer.resource == "pods"}


def _ordered(rows: Iterable[AllocationRow]) -> Sequence[AllocationRow]:
    return sorted(rows, key=lambda row: (row.key.claim_uid, row.position, row.key))
