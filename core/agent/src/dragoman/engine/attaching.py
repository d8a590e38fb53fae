"""One device into one sandbox, and back. Each step is durable before its side effect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loguru import logger

from dragoman.engine.parts import Parts
from dragoman.hooks import PluginMissing
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.sandboxes import Sandbox
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import (
    DeviceError,
    DragomanError,
    JsonObject,
    Link,
    LinkMissing,
    Netns,
    Prepared,
    Recovery,
)

if TYPE_CHECKING:
    from loguru import Logger  # exists in the stubs only


class NotPrepared(DragomanError):
    """The allocation is not, or no longer, prepared."""


class AttachedElsewhere(DragomanError):
    """Another pod of the claim has the device; this one follows when that pod ends."""


def of_device(name: str, error: DragomanError) -> str:
    """Say of which device an error is, where it does not begin with that itself."""
    text = str(error)
    return text if text.startswith((f"device {name} ", f"device {name}: ")) else f"device {name}: {text}"


@dataclass(frozen=True, slots=True)
class Attaching:
    """Attaches and detaches under the lock of the allocation."""

    parts: Parts

    async def attach(self, key: AllocationKey, sandbox: Sandbox, netns: Netns) -> AttachmentRow:
        """Attach the device to the sandbox; an attachment that is there already is given back.

        The guard stays closed: it is opened when the files of the claim are written. A failure is undone.
        Raises ``NotPrepared``, ``AttachedElsewhere``, and what the hook raises.
        """
        async with self.parts.locks.hold(key):
            row = self._prepared(key)
            for attachment in self.parts.ledger.attachments_of(key):
                if attachment.key.sandbox_id == sandbox.id and attachment.state is AttachmentState.ATTACHED:
                    return attachment
                await self._end(row, attachment, sandbox)
                row = self._prepared(key)
            try:
                return await self._attach(row, sandbox, netns)
            except LinkMissing:
                return await self._attach(await self._recover(row), sandbox, netns)

    async def detach(self, attachment: AttachmentRow) -> None:
        """Bring the device back and forget the attachment. Absent is success.

        Raises what the hook raises; the row then stays DETACHING with the failure in it.
        """
        async with self.parts.locks.hold(attachment.key.allocation):
            for present in self.parts.ledger.attachments_of(attachment.key.allocation):
                if present.key == attachment.key:
                    await self._detach(present)
                    self.parts.ended.notify()

    async def detach_unfinished(self, key: AllocationKey) -> None:
        """Undo attachments that are not, or no longer, whole. Raises as ``detach``."""
        async with self.parts.locks.hold(key):
            for present in self.parts.ledger.attachments_of(key):
                if present.state is not AttachmentState.ATTACHED:
                    await self._detach(present)

    async def detach_all(self, key: AllocationKey) -> None:
        """Detach an allocation wherever it is, after an attach that runs now. Raises as ``detach``."""
        async with self.parts.locks.hold(key):
            for present in self.parts.ledger.attachments_of(key):
                await self._detach(present)
                self.parts.ended.notify()

    def _prepared(self, key: AllocationKey) -> AllocationRow:
        row = self.parts.ledger.allocation(key)
        if row is None or row.state is not AllocationState.PREPARED or row.prepared is None:
            raise NotPrepared(f"{key} is not prepared; nothing can be attached")
        return row

    async def _end(self, row: AllocationRow, attachment: AttachmentRow, sandbox: Sandbox) -> None:
        """End an attachment that stands in the way, if it may be ended."""
        alive = attachment.state is AttachmentState.ATTACHED and await self.parts.links.same_netns(attachment.netns)
        if alive and attachment.pod_uid != sandbox.pod_uid:
            raise AttachedElsewhere(
                f"device {row.key.device} of {row.claim} is attached to pod "
                f"{attachment.pod_namespace}/{attachment.pod_name}; {sandbox} follows when that pod ends"
            )
        await self._detach(attachment)

    async def _attach(self, row: AllocationRow, sandbox: Sandbox, netns: Netns) -> AttachmentRow:
        parts = self.parts
        intent = AttachmentRow(
            key=AttachmentKey(allocation=row.key, sandbox_id=sandbox.id),
            state=AttachmentState.ATTACHING,
            pod_uid=sandbox.pod_uid,
            pod_namespace=sandbox.pod_namespace,
            pod_name=sandbox.pod_name,
            netns_path=netns.path,
            netns_cookie=netns.cookie,
            snapshot=await self._snapshot(row),
        )
        parts.ledger.put_attachments([intent])
        try:
            attached = await parts.hooks.attach_device(row.manager, parts.record(row, intent), netns)
        except DragomanError as error:
            await self._undo(row, intent, error)
            raise
        done = replace(intent, state=AttachmentState.ATTACHED, attached=attached)
        parts.ledger.put_attachments([done])
        _log(row, done).info("device {} of {} is in {} as {}", row.key.device, row.claim, sandbox, attached.interface)
        return done

    async def _snapshot(self, row: AllocationRow) -> JsonObject | None:
        target = row.prepared.target if row.prepared else None
        if not isinstance(target, Link):
            return None
        # It may have become the way of the host since it was published; a link of our own making cannot.
        if row.device.link is not None and target.name in await self.parts.links.protected():
            raise DeviceError(f"link {target.name} of {row.key} carries a default route of the host and is not moved")
        return await self.parts.links.snapshot(target)

    async def _undo(self, row: AllocationRow, intent: AttachmentRow, cause: DragomanError) -> None:
        try:
            await self._detach(replace(intent, failure=str(cause)))
        except DragomanError as error:
            _log(row, intent).error("an attach failed and could not be undone yet: {}", error)

    async def _recover(self, row: AllocationRow) -> AllocationRow:
        """Have the manager make a missing link again, and give the row as it is then."""
        (answer,) = await self.parts.hooks.recover_devices(row.manager, [self.parts.record(row)])
        if answer.outcome is Recovery.LOST:
            raise DeviceError(f"{row.key} is lost: {answer.message}")
        if answer.prepared is not None:
            self._note(row.key, answer.prepared)
        return self._prepared(row.key)

    async def _detach(self, attachment: AttachmentRow) -> None:
        parts, key = self.parts, attachment.key.allocation
        await parts.cdi.close_guard(key)
        attachment = replace(attachment, state=AttachmentState.DETACHING)
        parts.ledger.put_attachments([attachment])
        row = parts.ledger.allocation(key)
        ended = False
        try:
            if row is not None:
                ended = not await parts.links.same_netns(attachment.netns)
                await self._bring_back(row, attachment, None if ended else attachment.netns)
        except DragomanError as error:
            parts.ledger.put_attachments([replace(attachment, failure=str(error))])
            raise
        parts.ledger.delete_attachments([attachment.key])
        if row is not None:
            # Only its manager knows what became of a link whose namespace ended: the kernel puts hardware back on the
            # host, and a link of software ends too.
            how = "after its network namespace had ended" if ended else "from its pod"
            _log(row, attachment).info("device {} of {} is detached {}", key.device, row.claim, how)

    async def _bring_back(self, row: AllocationRow, attachment: AttachmentRow, netns: Netns | None) -> None:
        parts = self.parts
        try:
            state = await parts.hooks.detach_device(row.manager, parts.record(row, attachment), netns)
        except PluginMissing:
            # Links come back without their manager; freeing the device still needs it.
            if attachment.snapshot is not None:
                await parts.links.restore(attachment.snapshot, netns)
            return
        if row.prepared is None or row.prepared.state != state:
            self._note(row.key, Prepared(state=state, target=row.prepared.target if row.prepared else None))

    def _note(self, key: AllocationKey, prepared: Prepared) -> None:
        # The row may have changed while the hook ran: unprepare marks it, and a further pod is noted in it.
        row = self.parts.ledger.allocation(key)
        if row is not None:
            self.parts.ledger.put_allocations([replace(row, prepared=prepared)])


def _log(row: AllocationRow, attachment: AttachmentRow) -> Logger:
    pod = f"{attachment.pod_namespace}/{attachment.pod_name}"
    return logger.bind(claim=row.claim.label, device=row.key.device, plugin=row.distribution, pod=pod)
