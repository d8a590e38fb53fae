"""A ledger that was lost is rebuilt: from the claims of this node's pods, and from where the kernel has their links.

Until that has succeeded the agent serves degraded: new claims are prepared, calls for former ones wait, nothing that
looks unclaimed is removed, and managers are not told that their records are complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loguru import logger

from dragoman.engine.claims import Find
from dragoman.engine.describing import needs_attach
from dragoman.engine.parts import Parts
from dragoman.engine.ports import NodeClaims
from dragoman.engine.recovery import Recovering
from dragoman.engine.sandboxes import Sandboxes
from dragoman.engine.waiting import finished
from dragoman.engine.wakeup import Once
from dragoman.hooks import PluginMissing
from dragoman.model.claims import Claim
from dragoman.model.envelope import Whereabouts
from dragoman.model.errors import Unavailable
from dragoman.model.parameters import Kind
from dragoman.model.rebuild import Former, Node, know_again
from dragoman.model.records import AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.sandboxes import Sandbox
from dragoman.model.states import AttachmentState
from dragoman_hookspecs import Attached, DragomanError, ForeignLink, JsonObject, Link, Netns

FIRST_DELAY, LAST_DELAY = 1.0, 30.0
"""Seconds between attempts: doubled from the first to the last."""
RUNTIME_WITHIN = 30.0
"""Seconds that the runtime gets to tell its sandboxes. Without them, devices are where the status entries say."""


@dataclass(frozen=True, slots=True)
class Locating:
    """Finds the devices of former claims in the sandboxes that run now."""

    parts: Parts
    sandboxes: Sequence[Sandbox]

    async def attachment(self, former: Former) -> AttachmentRow | None:
        """Give the attachment in which the device is, or from which it has to be brought back; None for none.

        Raises ``DeviceError`` where the kernel cannot be asked.
        """
        row, told = former.row, former.whereabouts
        target = row.prepared.target if row.prepared and needs_attach(row) else None
        if isinstance(target, Link):
            return await self._of_link(row, target, told)
        # Recovery verifies it. Without news the attach runs again, which moves nothing.
        return told.attachment(row.key) if target is not None and told is not None else None

    async def _of_link(self, row: AllocationRow, link: Link, told: Whereabouts | None) -> AttachmentRow | None:
        candidates = [told.attachment(row.key)] if told is not None else []
        for candidate in [*candidates, *await self._entitled(row)]:
            if (inside := await self._inside(link, candidate.netns)) is not None:
                former, attached = inside
                state = told.attached.state if told and told.attached else row.prepared.state if row.prepared else {}
                snapshot = told.snapshot if told and told.snapshot else former
                return replace(candidate, snapshot=snapshot, attached=replace(attached, state=state))
        if told is None or told.snapshot is None:
            return None
        # It was in a pod and is in none that runs: it may be on the host, under the name and settings of the pod.
        return replace(told.attachment(row.key), state=AttachmentState.DETACHING)

    async def _entitled(self, row: AllocationRow) -> list[AttachmentRow]:
        """Give the attachments that could be: to the pods that the claim is reserved for. No other pod is believed."""
        pods = {consumer.uid for consumer in row.reserved_for if consumer.resource == "pods"}
        groups = any(consumer.resource != "pods" for consumer in row.reserved_for)
        found = []
        for sandbox in self.sandboxes:
            member = groups and sandbox.pod_namespace == row.claim.namespace
            if sandbox.netns_path is None or not (member or sandbox.pod_uid in pods):
                continue
            try:
                netns = await self.parts.links.netns(sandbox.netns_path)
            except FileNotFoundError:
                continue
            found.append(_attachment(row, sandbox, netns))
        return found

    async def _inside(self, link: Link, netns: Netns) -> tuple[JsonObject, Attached] | None:
        try:
            return await self.parts.links.find_inside(link, netns)
        except ForeignLink as error:
            logger.error("link {} is not taken for found: {}", link.name, error)
            return None


class Rebuilding:
    """Rebuilds the ledger in the background; ``reason`` says why that has not succeeded yet, "" once it has."""

    def __init__(
        self, parts: Parts, source: NodeClaims, find: Find, sandboxes: Sandboxes, recovering: Recovering
    ) -> None:
        self._parts = parts
        self._source = source
        self._find = find
        self._sandboxes = sandboxes
        self._recovering = recovering
        self._problems = Once(logger.error)
        self._done = asyncio.Event()
        self.reason = ""
        if parts.ledger.rebuilt:
            self.reason = "the ledger was lost, or a part of it, and is being rebuilt"
        else:
            self._done.set()

    async def done(self) -> None:
        """Wait until the ledger knows all that it can know again."""
        await self._done.wait()

    async def run(self) -> None:
        """Try until it succeeds; at once where there is nothing to rebuild."""
        if self._done.is_set():
            return
        await self._wait_for_runtime()
        delay = FIRST_DELAY
        while not await self._succeeds():
            await self._parts.clock.sleep(delay)
            delay = min(delay * 2, LAST_DELAY)
        logger.info("the ledger is rebuilt")

    async def _wait_for_runtime(self) -> None:
        waiter = asyncio.ensure_future(self._sandboxes.synchronized.wait())
        try:
            if not await finished(self._parts.clock, RUNTIME_WITHIN, waiter):
                logger.warning("the ledger is rebuilt without the sandboxes of the runtime, which does not tell them")
        finally:
            waiter.cancel()

    async def _succeeds(self) -> bool:
        try:
            await self._rebuild()
        except Exception as error:  # noqa: BLE001 - without another attempt the node would stay degraded
            reason = f"the ledger was lost, or a part of it, and is being rebuilt: {error}"
            if reason != self.reason:
                logger.opt(exception=None if isinstance(error, DragomanError) else error).error(reason)
            self.reason = reason
            return False
        finally:
            self._parts.former.tell()
        self.reason = ""
        self._done.set()
        self._sandboxes.again()
        return True

    async def _rebuild(self) -> None:
        read = await self._source.of_node()
        async with self._parts.managers.all_alone():
            if self._parts.ledger.rebuilt:
                await self._restore(read.claims)
                if read.unreadable:
                    raise Unavailable("; ".join(read.unreadable))
                # First the fact, then what follows from it: a crash in between leaves an ordinary start.
                self._parts.ledger.finish_rebuild()
            await self._recovering.recover_alone()

    async def _restore(self, claims: Sequence[Claim]) -> None:
        ledger = self._parts.ledger
        known = [
            (claim, know_again(claim, self._node()))
            for claim in claims
            if not ledger.knows(claim.uid) and not self._parts.former.is_given_up(claim.uid)
        ]
        self._problems.tell([f"not known again: {problem}" for _, found in known for problem in found.problems])
        # Of a claim that lost some of its rows, the others stand as they are.
        devices = [each for _, found in known for each in found.devices if ledger.allocation(each.row.key) is None]
        locating = Locating(self._parts, self._sandboxes.running())
        attachments = [attachment for each in devices if (attachment := await locating.attachment(each)) is not None]
        ledger.restore([each.row for each in devices], attachments)
        self._parts.rows_changed()
        for claim, found in known:
            if found.devices:
                names = ", ".join(each.row.key.device for each in found.devices)
                logger.bind(claim=claim.ref.label).info("{} is known again: {}", claim.ref, names)

    def _node(self) -> Node:
        parts = self._parts
        return Node(
            driver=parts.driver, pool=parts.pool, boot_id=parts.ledger.boot_id, find=self._find, kind=self._kind
        )

    def _kind(self, type_: str) -> Kind | None:
        try:
            info = self._parts.hooks.manager(type_)
        except PluginMissing:
            return None
        return Kind(type=info.type, applies=info.applies, own=info.parameters)


def _attachment(row: AllocationRow, sandbox: Sandbox, netns: Netns) -> AttachmentRow:
    return AttachmentRow(
        key=AttachmentKey(allocation=row.key, sandbox_id=sandbox.id),
        state=AttachmentState.ATTACHED,
        pod_uid=sandbox.pod_uid,
        pod_namespace=sandbox.pod_namespace,
        pod_name=sandbox.pod_name,
        netns_path=netns.path,
        netns_cookie=netns.cookie,
    )
