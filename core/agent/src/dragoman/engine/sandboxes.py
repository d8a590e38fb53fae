"""Devices move with sandboxes: what the runtime tells through NRI.

A sandbox is attached by a task of its own that goes on until all of its devices are in, or the sandbox is gone. The
runtime waits for it only within its budget: the guard keeps the containers out until the task is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from loguru import logger

from dragoman.engine.attaching import Attaching, of_device
from dragoman.engine.describing import Describing, needs_attach
from dragoman.engine.parts import Parts
from dragoman.engine.ports import PodResources
from dragoman.engine.reporting import RETURN_SETTLE, SETTLE, Reporting
from dragoman.engine.returning import FIRST_DELAY, LAST_DELAY, Returning
from dragoman.engine.waiting import finished
from dragoman.model.errors import Unavailable
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentRow, are_prepared
from dragoman.model.sandboxes import Container, Sandbox
from dragoman.model.states import AllocationState, AttachmentState
from dragoman.model.status import ClaimStatus, Event, Subject
from dragoman_hookspecs import DeviceError, DragomanError, InPlace, Link, Netns


@dataclass(slots=True)
class _Known:
    """A running sandbox: its task, the allocations that its pod is entitled to, and why they are not in yet.

    ``tried``: the first attempt has ended, well or not. ``awaited``: the runtime waits for it before it creates
    containers. ``sure``: devices whose containers cannot have been refused since. ``stopped``: the runtime has ended
    it.
    """

    sandbox: Sandbox
    task: asyncio.Task[None] | None = None
    wanted: frozenset[AllocationKey] = frozenset()
    problem: str = ""
    told: set[str] = field(default_factory=set)
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    awaited: bool = False
    sure: set[AllocationKey] = field(default_factory=set)
    stopped: bool = False
    number: int = 0
    """Of those that were seen to start, in their order; 0: it was found running."""


class Sandboxes:
    """Attaches, detaches, and says which containers have to wait. No call raises."""

    def __init__(self, parts: Parts, reporting: Reporting, pod_resources: PodResources) -> None:
        self._parts = parts
        self._reporting = reporting
        self._pod_resources = pod_resources
        self._attaching = Attaching(parts)
        self._returning = Returning(parts, self._attaching, lambda uid: self._report(uid, after=RETURN_SETTLE))
        self._describing = Describing(parts)
        self._known: dict[str, _Known] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._starts = 0
        self.synchronized = asyncio.Event()

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        """Learn all running sandboxes: attach what is missing, bring back what a dead sandbox left."""
        listed = {sandbox.id for sandbox in sandboxes}
        for attachment in self._parts.ledger.attachments():
            if attachment.key.sandbox_id not in listed and not await self._belongs(attachment):
                self._returning.begin(attachment)
        for gone in self._known.keys() - listed:
            # It may have been started after the list was made: only what has no namespace any more is forgotten.
            if not self._parts.ledger.attachments_in(gone):
                self._known.pop(gone)
        for sandbox in sandboxes:
            known = self._begin(sandbox)
            # Whatever it told over an earlier connection, it may not have waited for the answer.
            known.awaited = False
            known.sure.clear()
        self.synchronized.set()

    def running(self) -> Sequence[Sandbox]:
        """List the sandboxes that are known to run; all of them once ``synchronized`` is set."""
        return [known.sandbox for known in self._known.values()]

    def again(self) -> None:
        """Attach what the running sandboxes miss: allocations came to light that were not known before."""
        for sandbox in self.running():
            self._begin(sandbox)

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Attach the pod's devices within ``budget`` seconds; what is not done by then goes on in the background.

        Only the first attempt is waited for: the runtime starts no other pod of the node meanwhile.
        """
        known = self._begin(sandbox)
        self._starts += 1
        known.number = self._starts
        known.awaited = True
        if not await finished(self._parts.clock, budget, known.tried.wait()):
            logger.bind(pod=sandbox.label).warning("{}: attaching takes longer than {} s and goes on", sandbox, budget)
        known.awaited = False

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Detach the devices of the sandbox; what fails or takes longer goes on in the background."""
        if known := self._known.pop(sandbox.id, None):
            known.stopped = True
        self._parts.ended.notify()  # wakes the task of this sandbox, which then ends
        tasks = [
            self._returning.begin(attachment) for attachment in reversed(self._parts.ledger.attachments_in(sandbox.id))
        ]
        if tasks:
            await finished(self._parts.clock, budget, asyncio.wait(tasks))

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Forget the sandbox; it may never have been stopped."""
        await self.stop_sandbox(sandbox, budget)

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        """Give the reason why the container must not be created yet, or None."""
        known = self._known.get(sandbox.id)
        rows = [row for row in self._parts.ledger.of_pod(sandbox.pod_uid) if _wants(row)]
        keys = {row.key for row in rows} | (known.wanted if known else frozenset())
        missing = sorted(key.device for key in keys if not self._is_in(key, sandbox))
        if not missing:
            return None
        why = known.problem if known and known.problem else "attaching has not finished"
        return f"container {container.name} of {sandbox} waits for {', '.join(missing)}: {why}"

    def waiting(self) -> dict[str, str]:
        """Give the sandboxes whose devices are not in yet, by id, with the reason."""
        return {id_: known.problem for id_, known in self._known.items() if known.problem}

    def problems(self) -> dict[str, str]:
        """Give the same reasons by the UID of the pod."""
        return {known.sandbox.pod_uid: known.problem for known in self._known.values() if known.problem}

    async def drain(self) -> None:
        """Stop attaching and bringing back, and wait until the attempts that run now have ended.

        A device that cannot be brought back does not keep the agent from ending: its row is DETACHING, and recovery
        and ``synchronize`` go on with it.
        """
        self._known.clear()
        with self._returning.ending():
            while work := {*self._work, *self._returning.tasks}:
                await asyncio.wait(work)

    async def _belongs(self, attachment: AttachmentRow) -> bool:
        """Tell whether a device may stay in a sandbox that the runtime did not list: it may be newer than the list."""
        if attachment.state is AttachmentState.DETACHING:
            return False
        try:
            return await self._parts.links.same_netns(attachment.netns)
        except DragomanError as error:
            device = attachment.key.allocation.device
            logger.bind(device=device).error("whether the pod of device {} lives is not known: {}", device, error)
            return True

    def _is_in(self, key: AllocationKey, sandbox: Sandbox) -> bool:
        return any(
            attachment.key.sandbox_id == sandbox.id and attachment.state is AttachmentState.ATTACHED
            for attachment in self._parts.ledger.attachments_of(key)
        )

    def _begin(self, sandbox: Sandbox) -> _Known:
        known = self._known.setdefault(sandbox.id, _Known(sandbox))
        if known.task is None or known.task.done():
            known.tried.clear()
            known.task = self._start(self._keep_attaching(known))
        return known

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    async def _keep_attaching(self, known: _Known) -> None:
        delay = FIRST_DELAY
        while self._known.get(known.sandbox.id) is known:
            try:
                await self._attach_all(known)
            except Unavailable as error:
                self._tell_unasked(known, str(error))
            except DragomanError as error:
                await self._tell(known, str(error))
            except Exception as error:  # noqa: BLE001 - a fault in one sandbox must not end its task
                logger.opt(exception=error).error("{}: attaching failed", known.sandbox)
                await self._tell(known, f"internal error of Dragoman ({error!r}); its log has the details")
            else:
                known.problem = ""
                return
            finally:
                known.tried.set()
            await self._parts.ended.wait(self._parts.clock, delay)
            delay = min(delay * 2, LAST_DELAY)
        known.tried.set()

    async def _attach_all(self, known: _Known) -> None:
        """Attach what the pod is entitled to. Raises ``Unavailable`` where it may be entitled to more."""
        sandbox = known.sandbox
        rows = {row.key: row for row in self._parts.ledger.of_pod(sandbox.pod_uid)}
        unasked: Unavailable | None = None
        if self._has_open_claims():
            try:
                rows |= {row.key: row for row in await self._by_pod_resources(sandbox)}
            except Unavailable as error:
                unasked = error
        wanted = [row for row in sorted(rows.values(), key=lambda row: (row.claim.uid, row.position)) if _wants(row)]
        known.wanted = frozenset(row.key for row in wanted)
        if wanted and not await self._is_superseded(known, wanted):
            await self._attach_rows(known, wanted)
        if unasked is not None:
            raise unasked

    async def _is_superseded(self, known: _Known, rows: Sequence[AllocationRow]) -> bool:
        """Tell whether the pod has another sandbox that lives and is to have its devices.

        That is one which was started later. Of two that were found running nobody knows which is the later one: the
        devices stay where they are, and one that was on its way out of a sandbox is for the other.
        """
        own, pod = known.sandbox.id, known.sandbox.pod_uid
        others = [each for each in self._known.values() if each is not known and each.sandbox.pod_uid == pod]
        living = [each for each in others if await self._lives(each.sandbox)]
        if any(each.number > known.number for each in living):
            return True
        peers = {each.sandbox.id for each in living if each.number == known.number}
        attachments = [each for row in rows for each in self._parts.ledger.attachments_of(row.key) if peers]
        return any(
            (each.key.sandbox_id == own and each.state is AttachmentState.DETACHING)
            or (each.key.sandbox_id in peers and each.state is AttachmentState.ATTACHED)
            for each in attachments
        )

    async def _lives(self, sandbox: Sandbox) -> bool:
        try:
            return sandbox.netns_path is not None and bool(await self._parts.links.netns(sandbox.netns_path))
        except OSError:
            return False

    async def _attach_rows(self, known: _Known, rows: Sequence[AllocationRow]) -> None:
        sandbox = known.sandbox
        if sandbox.netns_path is None:
            raise DeviceError(f"{sandbox} has no network namespace of its own, so no device can be moved into it")
        try:
            netns = await self._parts.links.netns(sandbox.netns_path)
        except OSError as error:
            raise DeviceError(f"the network namespace of {sandbox} cannot be opened: {error}") from error
        problems: list[str] = []
        missing = [row for row in rows if not self._is_in(row.key, sandbox)]
        # What an attach that passed its limit left in the pod would be in its own way.
        missing = await self._each(missing, problems, lambda row: self._attaching.detach_unfinished(row.key))
        if missing:
            await self._check_names(sandbox, missing, netns)
        await self._each(missing, problems, lambda row: self._attach(known, row, netns))
        await self._open(rows, sandbox, netns)
        self._hint(known, {row.key for row in rows if self._is_in(row.key, sandbox)})
        if problems:
            raise DeviceError("; ".join(problems))

    def _hint(self, known: _Known, inside: set[AllocationKey]) -> None:
        """Tell which devices are in only after the runtime went on, once for each."""
        if late := set() if known.awaited else inside - known.sure:
            self._parts.came_late(key.device for key in late)
        known.sure = inside

    async def _attach(self, known: _Known, row: AllocationRow, netns: Netns) -> None:
        """Attach one device, unless the sandbox was stopped meanwhile; what was under way then comes back."""
        if not known.stopped:
            attachment = await self._attaching.attach(row.key, known.sandbox, netns)
            if known.stopped:
                self._returning.begin(attachment)

    async def _each(
        self, rows: Sequence[AllocationRow], problems: list[str], step: Callable[[AllocationRow], Awaitable[object]]
    ) -> list[AllocationRow]:
        """Take a step with each device; give the rows with which it succeeded, and add to the problems."""
        done = []
        for row in rows:
            try:
                async with self._parts.managers.together({row.manager}):
                    await step(row)
            except DragomanError as error:
                problems.append(of_device(row.key.device, error))
            else:
                done.append(row)
        return done

    async def _open(self, rows: Sequence[AllocationRow], sandbox: Sandbox, netns: Netns) -> None:
        """Write the files of the attached claims, then open their guards."""
        inside = {row.key: row for row in rows if self._is_in(row.key, sandbox)}
        for uid in {key.claim_uid for key in inside}:
            # Files of a claim that is unprepared meanwhile would stay.
            async with self._parts.locks.hold(uid):
                of_claim = self._parts.ledger.of_claim(uid)
                if are_prepared(of_claim):
                    await self._describing.write_files(of_claim)
                    self._report(uid)
        for key in inside:
            async with self._parts.locks.hold(key):
                if self._is_in(key, sandbox):
                    await self._parts.cdi.open_guard(key, netns)

    def _has_open_claims(self) -> bool:
        """Tell whether a claim is prepared whose pods reservedFor, as it was at prepare, may not name.

        Those are the claims that no template made (further pods may share them) and those of a PodGroup.
        """
        return any(
            row.pod_claim_name is None or any(consumer.resource != "pods" for consumer in row.reserved_for)
            for row in self._parts.ledger.allocations()
            if _wants(row)
        )

    async def _by_pod_resources(self, sandbox: Sandbox) -> list[AllocationRow]:
        devices = await self._pod_resources.devices_of(sandbox.pod_namespace, sandbox.pod_name)
        named = {(d.claim_namespace, d.claim_name, d.driver, d.pool, d.device, d.share_id) for d in devices}

        def is_named(row: AllocationRow) -> bool:
            device = (row.claim.namespace, row.claim.name, row.key.driver, row.key.pool, row.key.device)
            # A kubelet before 1.36 names no shares.
            return not named.isdisjoint({(*device, row.key.share_id), (*device, "")})

        return [row for row in self._parts.ledger.allocations() if is_named(row)]

    async def _check_names(self, sandbox: Sandbox, rows: Sequence[AllocationRow], netns: Netns) -> None:
        """Check the names for the whole pod before the first move. Raises ``DeviceError``."""
        taken = dict.fromkeys(await self._parts.links.interfaces(netns), f"{sandbox} has an interface of that name")
        for row in rows:
            target = row.prepared.target if row.prepared else None
            if isinstance(target, InPlace) and target.name not in taken:
                raise DeviceError(f"{row.key} uses interface {target.name}, which {sandbox} does not have")
            if not isinstance(target, Link):
                continue
            name = row.parameters.get("podIfName") or target.name
            if name in taken:
                raise DeviceError(f"{row.key} is to be named {name}, but {taken[name]}; choose another podIfName")
            taken[name] = f"{row.key} is to have that name too"

    def _tell_unasked(self, known: _Known, reason: str) -> None:
        """Log once that the kubelet cannot be asked; the pod may well have no device that waits for the answer."""
        known.problem = ""
        if reason not in known.told:
            known.told.add(reason)
            about = logger.bind(pod=known.sandbox.label)
            about.warning("the devices of {} cannot be asked of the kubelet: {}", known.sandbox, reason)

    async def _tell(self, known: _Known, problem: str) -> None:
        """Log a problem and write an event, the first time that it is met."""
        known.problem = problem
        sandbox = known.sandbox
        about = logger.bind(pod=sandbox.label)
        if problem in known.told:
            about.debug("{}: still {}", sandbox, problem)
            return
        about.error("{}: {}", sandbox, problem)
        known.told.add(problem)
        subject = Subject(kind="Pod", namespace=sandbox.pod_namespace, name=sandbox.pod_name, uid=sandbox.pod_uid)
        await self._parts.events.emit(Event(subject=subject, reason="DeviceNotAttached", message=problem))
        for uid in {key.claim_uid for key in known.wanted}:
            self._report(uid, problem)

    def _report(self, uid: str, problem: str = "", *, after: float = SETTLE) -> None:
        async def make() -> ClaimStatus | None:
            rows = self._parts.ledger.of_claim(uid)
            return await self._describing.status(rows, problem) if rows else None

        self._reporting.report(uid, make, after=after)


def _wants(row: AllocationRow) -> bool:
    return row.state is AllocationState.PREPARED and needs_attach(row)
