"""Start-up: what a former life left is undone or taken over, before anything is served."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from loguru import logger

from dragoman.engine.attaching import Attaching
from dragoman.engine.describing import Describing
from dragoman.engine.freeing import Freeing
from dragoman.engine.parts import Parts
from dragoman.hooks import PluginTimeout
from dragoman.model.records import AllocationRow, AttachmentRow, are_prepared
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import DragomanError, Link, Recovered, Recovery

FIRST_PAUSE, LAST_PAUSE = 5.0, 300.0
"""Seconds before a manager that could not recover its devices is asked again: doubled from the first to the last."""


@dataclass(frozen=True, slots=True)
class Recovering:
    """Recovers the whole node once, in the order of the design: rows, devices, attachments, files.

    ``failed``: the managers that could not recover their devices, with the reason; ``run`` asks them again.
    """

    parts: Parts
    failed: dict[str, DragomanError] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why devices that are prepared may be missing; "" where all is well."""
        return "; ".join(f"{type_} could not recover its devices: {error}" for type_, error in self.failed.items())

    async def recover(self) -> None:
        """Undo unfinished rows, have managers recover their devices, verify attachments, re-assert files.

        Waits for what changes devices now: after a handover that came to nothing, that may be a call whose caller has
        gone. While the ledger is being rebuilt, what it does not know is kept.
        Never raises for one device: what fails stays in the ledger and is tried again later.
        """
        async with self.parts.managers.all_alone():
            await self.recover_alone()

    async def recover_alone(self) -> None:
        """As ``recover``; the caller sees to it that nothing else changes devices meanwhile."""
        await self._undo_attachments()
        await self._undo_allocations()
        for info in self.parts.hooks.managers():
            await self._recover_manager(info.type)
        await self._verify_attachments()
        await self._files()

    async def run(self) -> None:
        """Have managers that failed recover their devices again, until cancelled.

        One that passed its limit is left alone: its devices could not be touched while it is waited for.
        """
        pause = FIRST_PAUSE
        while True:
            await self.parts.clock.sleep(pause)
            pause = min(pause * 2, LAST_PAUSE) if self.failed else FIRST_PAUSE
            for type_, error in list(self.failed.items()):
                if not isinstance(error, PluginTimeout):
                    await self.recover_manager(type_)

    async def recover_manager(self, type_: str) -> None:
        """Recover the devices of one manager, made anew or started late, as soon as nothing changes devices."""
        async with self.parts.managers.alone(type_):
            await self._recover_manager(type_)

    async def _undo_attachments(self) -> None:
        for attachment in self.parts.ledger.attachments():
            if attachment.state is not AttachmentState.ATTACHED:
                await self._detach(attachment)

    async def _undo_allocations(self) -> None:
        for _, rows in groupby(list(self.parts.ledger.allocations()), key=lambda row: row.claim.uid):
            of_claim = list(rows)
            if are_prepared(of_claim):
                continue
            try:
                await Freeing(self.parts, Attaching(self.parts)).free(of_claim)
            except DragomanError as error:
                logger.bind(claim=of_claim[0].claim.label).error("an unfinished claim is not free yet: {}", error)

    async def _recover_manager(self, type_: str) -> None:
        rows = [
            row
            for row in self.parts.ledger.allocations()
            if row.manager == type_ and row.state is AllocationState.PREPARED and not row.admin_access
        ]
        records = [self.parts.record(row, self._whereabouts(row)) for row in rows]
        complete = not self.parts.ledger.rebuilt
        if not records and not complete:
            return
        try:
            answers = await self.parts.hooks.recover_devices(type_, records, complete=complete)
        except DragomanError as error:
            if str(self.failed.get(type_, "")) != str(error):
                logger.bind(plugin=type_).error(
                    "devices of {} cannot be recovered now, their claims are kept: {}", type_, error
                )
            self.failed[type_] = error
            return
        self.failed.pop(type_, None)
        self._take(rows, answers)

    def _whereabouts(self, row: AllocationRow) -> AttachmentRow | None:
        """Give the attachment of a device, whole or not: one that could not be brought back yet is not missing."""
        return next(iter(self.parts.ledger.attachments_of(row.key)), None)

    def _take(self, rows: Sequence[AllocationRow], answers: Sequence[Recovered]) -> None:
        changed = []
        present = [self.parts.ledger.allocation(row.key) or row for row in rows]
        for row, answer in zip(present, answers, strict=True):
            if answer.outcome is Recovery.LOST:
                logger.bind(claim=row.claim.label, device=row.key.device).error(
                    "{} is lost: {}", row.key, answer.message
                )
                changed.append(replace(row, failure=answer.message))
            elif answer.prepared is not None or row.failure:
                changed.append(replace(row, prepared=answer.prepared or row.prepared, failure=""))
        if changed:
            self.parts.ledger.put_allocations(changed)

    async def _verify_attachments(self) -> None:
        """Open the guards of attachments that are as recorded; bring the others back, guard first.

        Where the kernel cannot be asked, the device stays where it is: it may well be in use.
        """
        for attachment in self.parts.ledger.attachments():
            key = attachment.key.allocation
            try:
                inside = attachment.state is AttachmentState.ATTACHED and await self._is_inside(attachment)
            except (DragomanError, OSError) as error:
                logger.bind(device=key.device).error("device {} cannot be looked for: {}", key.device, error)
                continue
            if inside:
                await _attempt("guard opened", self.parts.cdi.open_guard(key, attachment.netns))
            else:
                await self._detach(attachment)

    async def _is_inside(self, attachment: AttachmentRow) -> bool:
        netns = attachment.netns
        if attachment.attached is None or not await self.parts.links.same_netns(netns):
            return False
        row = self.parts.ledger.allocation(attachment.key.allocation)
        target = row.prepared.target if row and row.prepared else None
        if attachment.attached.interface in await self.parts.links.interfaces(netns):
            return True
        # Its pod may have given it another name; what was set up in there must not go with a restart of the agent.
        return isinstance(target, Link) and await self.parts.links.find_inside(target, netns) is not None

    async def _detach(self, attachment: AttachmentRow) -> None:
        try:
            await Attaching(self.parts).detach(attachment)
        except DragomanError as error:
            key = attachment.key.allocation
            logger.bind(device=key.device).error("device {} is not back on the host yet: {}", key.device, error)

    async def _files(self) -> None:
        """Write what prepared claims need, and remove what belongs to no row."""
        parts = self.parts
        wanted: set[str] = set()
        for _, rows in groupby(list(parts.ledger.allocations()), key=lambda row: row.claim.uid):
            of_claim = list(rows)
            for row in of_claim:
                wanted |= parts.cdi.file_names(row.key)
                if Describing(parts).attachment(row) is None:
                    await _attempt("guard closed", parts.cdi.close_guard(row.key))
            if any(row.state is not AllocationState.PREPARED for row in of_claim):
                continue
            try:
                await Describing(parts).write_files(of_claim)
            except DragomanError as error:
                about = logger.bind(claim=of_claim[0].claim.label)
                about.error("the files of a claim cannot be written now: {}", error)
        if parts.ledger.rebuilt:
            return
        await _attempt("unclaimed file removed", self._remove_all_but(wanted))

    async def _remove_all_but(self, wanted: Collection[str]) -> None:
        for name in await self.parts.cdi.present():
            if name not in wanted:
                await self.parts.cdi.remove_file(name)


async def _attempt(what: str, step: Awaitable[None]) -> None:
    """Take a step with a file: one that fails must not keep the node from being served."""
    try:
        await step
    except DragomanError as error:
        logger.error("no {}: {}", what, error)
