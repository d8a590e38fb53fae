"""Allocations back to nothing, from the ledger alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loguru import logger

from dragoman.engine.attaching import Attaching, of_device
from dragoman.engine.parts import Parts
from dragoman.hooks import PluginMissing
from dragoman.model.records import AllocationRow
from dragoman.model.states import AllocationState
from dragoman_hookspecs import DragomanError


class FreeFailed(DragomanError):
    """Some devices of a claim could not be freed; their rows stay and are tried again."""


@dataclass(frozen=True, slots=True)
class Freeing:
    """Frees the rows of a claim; the caller holds the lock of the claim."""

    parts: Parts
    attaching: Attaching

    async def free(self, rows: Sequence[AllocationRow], *, force: bool = False) -> None:
        """Detach and free the devices in reverse order, remove the files, delete the rows.

        The devices of one claim do not wait for each other: what fails stays FREEING with the failure in its row.
        ``force`` lets rows go whose plugin is not installed; their links are returned all the same.
        Raises ``FreeFailed`` naming every device that is left.
        """
        if not rows:
            return
        self.parts.ledger.put_allocations([replace(row, state=AllocationState.FREEING) for row in rows])
        self.parts.rows_changed()
        failures = {row.key: text for row in reversed(rows) if (text := await self._free(row, force=force))}
        try:
            await self.parts.hooks.remove_metadata(rows[0].claim.uid)
        except DragomanError as error:
            # One row stays, so that the files are removed with the next attempt.
            failures[rows[0].key] = failures.get(rows[0].key) or str(error)
        for row in rows:
            self._note(row, failures.get(row.key, ""))
        ended = [row for row in rows if row.key not in failures]
        self.parts.returned(ended)
        self.parts.ledger.delete_allocations([row.key for row in ended])
        self.parts.rows_changed()
        self.parts.freed.notify()
        if failures:
            raise FreeFailed("; ".join(failures.values()))

    async def _free(self, row: AllocationRow, *, force: bool) -> str:
        about = logger.bind(claim=row.claim.label, device=row.key.device, plugin=row.distribution)
        try:
            await self.attaching.detach_all(row.key)
            await self._call(row, force=force)
            await self.parts.cdi.remove(row.key)
        except DragomanError as error:
            # Whoever asked for it tells the error.
            about.debug("device {} of {} is not free yet: {}", row.key.device, row.claim, error)
            return of_device(row.key.device, error)
        return ""

    async def _call(self, row: AllocationRow, *, force: bool) -> None:
        if row.admin_access:
            return
        present = self.parts.ledger.allocation(row.key) or row
        try:
            await self.parts.hooks.free_device(row.manager, self.parts.record(present))
        except PluginMissing as error:
            if not force:
                raise PluginMissing(
                    f"{row.key} was prepared by {row.distribution} {row.plugin_version}, which is not running; install "
                    f"or enable it, or give the device up with 'dragoman allocations release {row.claim.uid}'"
                ) from error

    def _note(self, row: AllocationRow, failure: str) -> None:
        present = self.parts.ledger.allocation(row.key)
        if present is not None and present.failure != failure:
            self.parts.ledger.put_allocations([replace(present, failure=failure)])
