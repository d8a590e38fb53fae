"""Claims prepared and unprepared: what the kubelet asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace

from loguru import logger

from dragoman.engine.attaching import Attaching
from dragoman.engine.describing import Describing
from dragoman.engine.freeing import Freeing
from dragoman.engine.parts import Parts
from dragoman.engine.ports import ClaimSource
from dragoman.engine.releasing import Released, Releasing
from dragoman.engine.reporting import Reporting
from dragoman.engine.waiting import Joined
from dragoman.model.claims import Claim, ClaimRef, PrepareAnswer
from dragoman.model.errors import Unavailable
from dragoman.model.plan import (
    DeviceHeld,
    Known,
    Planned,
    UnusableClaim,
    check_held,
    key_of,
    own_results,
    plan_claim,
)
from dragoman.model.rebuild import own_entries
from dragoman.model.records import AllocationRow, are_prepared
from dragoman.model.states import AllocationState
from dragoman.model.status import ClaimStatus
from dragoman_hookspecs import DragomanError, Prepared, rules

Find = Callable[[str], Known | None]
"""Finds an advertised device by name."""

PREPARE_SECONDS = 40.0
"""The kubelet gives up after 45 s and asks again only after 60 to 90 s, so waiting for a device has to end before."""

FORMER_SECONDS = 10.0
"""A call for a claim of a lost ledger waits so long for it to be known again; a handover has to outwait such calls."""


class Claims:
    """Answers prepare and unprepare. Every claim gets its own answer; one bad claim does not touch the others."""

    def __init__(self, parts: Parts, source: ClaimSource, find: Find, reporting: Reporting) -> None:
        self._parts = parts
        self._source = source
        self._find = find
        self._reporting = reporting
        self._describing = Describing(parts)
        self._freeing = Freeing(parts, Attaching(parts))
        self._preparing: Joined[PrepareAnswer] = Joined()
        self._unpreparing: Joined[bool] = Joined()
        self._releasing: Joined[Released] = Joined()

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare a batch; exactly one answer for each UID."""
        refs = {ref.uid: ref for ref in claims}
        answers = await asyncio.gather(*(self._answer(ref) for ref in refs.values()))
        return dict(zip(refs, answers, strict=True))

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare a batch; UID to error text, "" for success."""
        refs = {ref.uid: ref for ref in claims}
        errors = await asyncio.gather(*(self._unprepared(ref) for ref in refs.values()))
        return dict(zip(refs, errors, strict=True))

    async def release(self, claim_uid: str, *, from_pods: bool = False) -> Released:
        """Give the devices of a claim up, also those of a plugin that is gone; tells what was given up.

        Raises ``InUse`` where a running pod has a device, unless it is to be taken ``from_pods``, and ``FreeFailed``.
        Not joined with what the kubelet asks for, which is not refused.
        """
        return await self._releasing.run((claim_uid, from_pods), lambda: self._release(claim_uid, from_pods=from_pods))

    async def let_go(self, rows: Sequence[AllocationRow]) -> bool:
        """Free a claim unasked, unless its rows are others now; tells whether it was freed. Raises ``FreeFailed``.

        Not joined with what the kubelet asks for, which frees the claim in any case.
        """
        uid = rows[0].claim.uid
        return await self._unpreparing.run(("unasked", uid), lambda: self._unprepare(uid, seen=rows))

    async def drain(self) -> None:
        """Wait until no prepare and no unprepare runs."""
        await self._preparing.drain()
        await self._unpreparing.drain()
        await self._releasing.drain()

    async def _answer(self, ref: ClaimRef) -> PrepareAnswer:
        about = logger.bind(claim=ref.label)
        try:
            answer = await self._preparing.run(ref.uid, lambda: self._prepare(ref))
        except DragomanError as error:
            about.error("{} is not prepared: {}", ref, error)
            return PrepareAnswer(error=str(error))
        except Exception as error:  # noqa: BLE001 - a fault of one claim must not take the batch down
            about.opt(exception=error).error("{} is not prepared: internal error", ref)
            return PrepareAnswer(error=f"{ref}: internal error of Dragoman ({error!r}); its log has the details")
        about.info("{} is prepared: {}", ref, ", ".join(device.device for device in answer.devices) or "no devices")
        return answer

    async def _unprepared(self, ref: ClaimRef) -> str:
        about = logger.bind(claim=ref.label)
        try:
            await self._unpreparing.run(ref.uid, lambda: self._asked_to_unprepare(ref))
        except DragomanError as error:
            about.error("{} is not unprepared: {}", ref, error)
            return str(error)
        except Exception as error:  # noqa: BLE001 - a fault of one claim must not take the batch down
            about.opt(exception=error).error("{} is not unprepared: internal error", ref)
            return f"{ref}: internal error of Dragoman ({error!r}); its log has the details"
        about.info("{} is unprepared", ref)
        return ""

    async def _asked_to_unprepare(self, ref: ClaimRef) -> bool:
        await self._known_again(ref)
        return await self._unprepare(ref.uid)

    async def _unprepare(self, uid: str, *, seen: Sequence[AllocationRow] | None = None) -> bool:
        async with self._parts.locks.hold(uid), self._settled(uid) as rows:
            if seen is not None and rows != seen:
                return False
            await self._free(uid, rows)
        return True

    async def _release(self, uid: str, *, from_pods: bool) -> Released:
        async with self._parts.locks.hold(uid), self._settled(uid):
            rows, taken = await Releasing(self._parts).begin(uid, from_pods=from_pods)
            if not rows:
                return Released()
            await self._free(uid, rows, force=True)
            claim = rows[0].claim
            # The cluster takes entries back with the allocation, which a claim that is given up by hand may keep.
            self._reporting.report(uid, lambda: _nothing(claim))
        devices = tuple(row.key.device for row in rows)
        return Released(claim=f"{claim.namespace}/{claim.name}", devices=devices, taken=taken)

    async def _free(self, uid: str, rows: Sequence[AllocationRow], *, force: bool = False) -> None:
        self._reporting.forget(uid)
        await self._freeing.free(rows, force=force)
        self._parts.former.give_up(self._parts.ledger, uid)
        self._reporting.forget(uid)

    @asynccontextmanager
    async def _settled(self, uid: str) -> AsyncIterator[Sequence[AllocationRow]]:
        """Give the rows of a claim, that is held, as they are once no recovery changes them any more."""
        rows = self._parts.ledger.of_claim
        async with self._parts.managers.together(row.manager for row in rows(uid)):
            yield rows(uid)

    async def _known_again(self, ref: ClaimRef) -> None:
        await self._parts.former.known(self._parts.ledger, self._parts.clock, ref, FORMER_SECONDS)

    async def _prepare(self, ref: ClaimRef) -> PrepareAnswer:
        claim = await self._read(ref)
        if claim is not None and own_entries(claim, self._parts.driver):
            await self._known_again(ref)
        async with self._parts.locks.hold(ref.uid):
            rows = self._parts.ledger.of_claim(ref.uid)
            if claim is None and not are_prepared(rows):
                raise Unavailable(f"{ref} was unprepared meanwhile, and cannot be read now")
            if claim is None or self._is_prepared(claim, rows):
                return await self._again(rows, claim)
            async with self._settled(ref.uid) as rows:
                await self._refuse_in_use(claim, rows)
                await self._freeing.free(rows)
            rows, metadata = await self._fresh(claim)
            return self._done(rows, metadata)

    async def _read(self, ref: ClaimRef) -> Claim | None:
        """Read the claim; None where the API server is away and the ledger has the claim prepared."""
        try:
            return await self._source.read(ref)
        except Unavailable:
            if are_prepared(self._parts.ledger.of_claim(ref.uid)):
                return None
            raise

    def _is_prepared(self, claim: Claim, rows: Sequence[AllocationRow]) -> bool:
        wanted = {key_of(claim, result) for result in own_results(claim, self._parts.driver)}
        return {row.key for row in rows} == wanted and all(row.state is AllocationState.PREPARED for row in rows)

    async def _refuse_in_use(self, claim: Claim, rows: Sequence[AllocationRow]) -> None:
        """Refuse to take a device from a running pod because the claim's other devices are not as recorded.

        They may not be known any more, where the ledger was lost and a status entry could not be understood.
        """
        if any(row.state is not AllocationState.PREPARED for row in rows):
            return
        for attachment in (each for row in rows for each in self._parts.ledger.attachments_of(row.key)):
            if await self._parts.links.same_netns(attachment.netns):
                raise UnusableClaim(
                    f"{claim.ref} is recorded with other devices than it has now, and device "
                    f"{attachment.key.allocation.device} of it is in pod {attachment.pod_namespace}/"
                    f"{attachment.pod_name}; delete that pod, and the claim is prepared anew"
                )

    async def _again(self, rows: Sequence[AllocationRow], claim: Claim | None) -> PrepareAnswer:
        """Give the same answer again. Files are re-asserted, except guards; further pods of the claim are noted."""
        if claim is not None and rows and rows[0].reserved_for != claim.reserved_for:
            rows = [replace(row, reserved_for=claim.reserved_for) for row in rows]
            self._parts.ledger.put_allocations(rows)
        metadata = await self._describing.write_files(rows) if rows else {}
        return PrepareAnswer(devices=self._describing.answer(rows, metadata))

    async def _fresh(self, claim: Claim) -> tuple[list[AllocationRow], Mapping[str, tuple[str, ...]]]:
        planned = plan_claim(claim, self._parts.driver, self._parts.pool, self._find)
        if not planned:
            return [], {}
        _check_names(claim)
        await self._check(planned)
        async with self._parts.locks.hold_all(f"device {each.key.device}" for each in planned):
            await self._wait_for_devices(planned)
            async with self._parts.managers.together(each.known.kind.type for each in planned):
                rows = [await self._intend(claim, each) for each in planned]
                self._parts.ledger.put_allocations(rows)
                self._parts.rows_changed()
                return await self._set_up(self._parts.ledger.of_claim(claim.uid))

    async def _check(self, planned: Sequence[Planned]) -> None:
        """Have every device's manager check its parameters, before any side effect."""
        for each in planned:
            if each.allocation.admin_access:
                continue
            fault = await self._parts.hooks.check_config(each.known.kind.type, each.known.device, each.allocation)
            if fault is not None:
                raise UnusableClaim(
                    f"the parameters of request {each.key.request} do not fit device {each.key.device} "
                    f"({each.known.kind.type}): {fault}"
                )

    async def _wait_for_devices(self, planned: Sequence[Planned]) -> None:
        deadline = self._parts.clock.monotonic() + PREPARE_SECONDS
        for each in planned:
            while True:
                try:
                    check_held(each, self._parts.ledger.of_device(each.key.device))
                    break
                except DeviceHeld as error:
                    left = deadline - self._parts.clock.monotonic()
                    if left <= 0 or not self._is_leaving(error.holder, each):
                        raise
                    await self._parts.freed.wait(self._parts.clock, left)

    def _is_leaving(self, holder: AllocationRow, each: Planned) -> bool:
        """Tell whether the device will be free soon: it is being freed, or its claim was replaced by this one."""
        allocation = each.allocation
        replaced = (holder.claim.namespace, holder.claim.name) == (allocation.claim_namespace, allocation.claim_name)
        return holder.state is AllocationState.FREEING or holder.claim.uid in self._unpreparing or replaced

    async def _intend(self, claim: Claim, each: Planned) -> AllocationRow:
        plan = {}
        if not each.allocation.admin_access:
            plan = await self._parts.hooks.plan_device(each.known.kind.type, each.allocation)
        return AllocationRow(
            key=each.key,
            claim=claim.ref,
            position=each.position,
            state=AllocationState.PREPARING,
            manager=each.known.kind.type,
            distribution=each.known.distribution,
            plugin_version=each.known.version,
            device=each.known.device,
            parameters=each.parameters_json,
            consumed_capacity=each.allocation.consumed_capacity,
            admin_access=each.allocation.admin_access,
            logical_pool=each.known.logical_pool,
            reserved_for=claim.reserved_for,
            pod_claim_name=claim.pod_claim_name,
            plan=plan,
        )

    async def _set_up(self, rows: Sequence[AllocationRow]) -> tuple[list[AllocationRow], Mapping[str, tuple[str, ...]]]:
        """Set the devices up in order; any failure frees all of them again, in reverse."""
        ready = list(rows)
        try:
            for index, row in enumerate(rows):
                prepared = Prepared()
                if not row.admin_access:
                    allocation = self._parts.allocation(row)
                    prepared = await self._parts.hooks.setup_device(row.manager, allocation, deepcopy(row.plan))
                ready[index] = replace(row, prepared=prepared)
            metadata = await self._describing.write_files(ready)
            ready = [replace(row, state=AllocationState.PREPARED) for row in ready]
            self._parts.ledger.put_allocations(ready)
        except BaseException:
            await self._give_back(ready)
            raise
        return ready, metadata

    async def _give_back(self, rows: Sequence[AllocationRow]) -> None:
        try:
            await self._freeing.free(rows)
        except DragomanError as error:
            logger.bind(claim=rows[0].claim.label).error("a failed prepare is not undone yet: {}", error)

    def _done(self, rows: Sequence[AllocationRow], metadata: Mapping[str, tuple[str, ...]]) -> PrepareAnswer:
        if rows:
            uid = rows[0].claim.uid
            self._reporting.report(uid, lambda: self._status(uid))
        return PrepareAnswer(devices=self._describing.answer(rows, metadata))

    async def _status(self, uid: str) -> ClaimStatus | None:
        rows = self._parts.ledger.of_claim(uid)
        return await self._describing.status(rows) if rows else None


async def _nothing(claim: ClaimRef) -> ClaimStatus:
    return ClaimStatus(claim=claim, devices=())


def _check_names(claim: Claim) -> None:
    """Refuse a pod claim name that is no DNS label: anyone may set the annotation, and it becomes part of a path."""
    if claim.pod_claim_name is not None and (message := rules.dns_label(claim.pod_claim_name)):
        raise UnusableClaim(
            f"annotation resource.kubernetes.io/pod-claim-name of {claim.ref} is {claim.pod_claim_name!r}: {message}"
        )
