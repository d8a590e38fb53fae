"""The inventory: the last complete list of every device manager, kept fresh by time and by hints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Protocol

from loguru import logger

from dragoman.clock import Clock
from dragoman.engine.wakeup import Once, Wakeup
from dragoman.hooks import Hooks, PluginFault
from dragoman.model.records import AllocationRow
from dragoman.model.stock import Stock, listing_fault, merge
from dragoman_hookspecs import DragomanError, Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTimes:
    """Seconds: between scans, from a hint to its scan (more hints meanwhile are one), and for the first scans."""

    interval: float = 60.0
    settle: float = 0.5
    first: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """Why the list of a manager may be old, and since when (seconds since the epoch)."""

    reason: str
    since: float


class LastLists(Protocol):
    """Keeps the last list of each manager over a restart, so that a failed first scan withdraws nothing either."""

    def load(self, manager: str) -> Inventory | None:
        """Give the list that was saved last, or None."""

    def save(self, manager: str, listing: Inventory) -> None:
        """Keep a list."""


class NodeInventory:
    """What the managers of this node see.

    A failed scan changes nothing but the manager's mark: its last list stands until a scan succeeds. ``protected``
    lists the links that the host needs (``Links.protected``). Reads are from memory and never wait.
    """

    def __init__(
        self,
        *,
        hooks: Hooks,
        protected: Callable[[], Awaitable[frozenset[str]]],
        rows: Callable[[], Sequence[AllocationRow]],
        clock: Clock,
        times: ScanTimes | None = None,
        last: LastLists | None = None,
    ) -> None:
        self._hooks = hooks
        self._read_protected = protected
        self._rows = rows
        self._clock = clock
        self._times = times or ScanTimes()
        self._last = last
        self._lists: dict[str, Inventory] = {}
        self._degraded: dict[str, Degraded] = {}
        self._scanned: set[str] = set()
        self._returned: dict[str, AllocationRow] = {}
        self._protected: frozenset[str] | None = None
        self._faults = Once(logger.warning)
        self._bells: dict[str, Wakeup] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._managers = Wakeup()
        self._complete = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        hooks.on_change(self.hint)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have ``callback()`` called on the event loop when a list, a mark or the protected links changed."""
        self._listeners.append(callback)

    async def run(self) -> None:
        """Scan until cancelled. Every manager is followed by a task of its own, so that none waits for another."""
        limit = asyncio.create_task(self._end_first())
        try:
            while True:
                self._follow_managers()
                await self._managers.heard(self._clock)
        finally:
            tasks = (limit, *self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._tasks.clear()  # an agent that takes its lock back runs this again

    async def wait_first(self) -> None:
        """Wait until every manager was scanned with success, or the time for the first scans is over."""
        await self._complete.wait()

    def hint(self, manager: str) -> None:
        """Say that a scan of the manager is due."""
        if manager in self._bells:
            self._bells[manager].ring()

    def managers_changed(self) -> None:
        """Say that managers were loaded, enabled, disabled or have other settings.

        The list of one that is off goes away, the others are scanned again soon.
        """
        for bell in self._bells.values():
            bell.ring()
        self._managers.ring()

    def returned(self, rows: Sequence[AllocationRow]) -> None:
        """Say that devices have come back from pods.

        Inside a pod most are out of their manager's sight, and another claim may have one before the next scan lists it
        again: until then it can be asked for by name.
        """
        self._returned |= {row.key.device: row for row in rows if row.manager in self._bells and not row.admin_access}

    def stock(self, device: str | None = None) -> Stock:
        """Give what the node has, or one device of it, with what the ledger holds at this moment.

        One device is also found where it has just come back (see ``returned``).
        """
        order = [info.type for info in self._hooks.managers() if info.type in self._lists]
        lists, rows = {type_: self._lists[type_] for type_ in order}, self._rows()
        if device is not None:
            lists = {type_: _only(device, listing) for type_, listing in lists.items()}
            rows = [row for row in rows if row.key.device == device]
            if not rows and not any(listing.devices for listing in lists.values()) and device in self._returned:
                rows = [self._returned[device]]
        return merge(lists, rows, self._protected)

    def degraded(self) -> Mapping[str, Degraded]:
        """Give the managers whose list may be old."""
        return dict(self._degraded)

    def owner(self, device: str) -> str | None:
        """Give the type of the manager that a device belongs to."""
        return self.stock(device).owners().get(device)

    # --- following the managers --------------------------------------------------------------------------------

    def _follow_managers(self) -> None:
        enabled = {info.type for info in self._hooks.managers() if info.enabled}
        for type_ in self._tasks.keys() - enabled:
            self._tasks.pop(type_).cancel()
            self._forget(type_)
        for type_ in sorted(enabled - self._tasks.keys()):
            self._bells[type_] = Wakeup()
            self._recall(type_)
            self._tasks[type_] = asyncio.create_task(self._follow(type_), name=f"inventory of {type_}")
        self._check_complete()

    def _forget(self, type_: str) -> None:
        for known in (self._bells, self._lists, self._degraded):
            known.pop(type_, None)
        self._scanned.discard(type_)
        self._seen_again(self._returned_of(type_))
        self._changed()

    def _recall(self, type_: str) -> None:
        if self._last is not None and (listing := self._last.load(type_)) is not None:
            self._lists[type_] = listing
            self._degraded[type_] = Degraded(reason="not scanned yet since the start", since=self._clock.now())

    async def _follow(self, type_: str) -> None:
        failures = 0
        while True:
            failures = 0 if await self._scan(type_) else failures + 1
            # A manager that fails is asked again soon, ever more slowly, and no later than by the timer.
            pause = min(self._times.interval, 2.0 ** (failures - 1)) if failures else self._times.interval
            if await self._bells[type_].heard(self._clock, pause):
                await self._clock.sleep(self._times.settle)
                self._bells[type_].hush()

    async def _scan(self, type_: str) -> bool:
        before = (self._lists.get(type_), self._degraded.get(type_), self._protected)
        back = self._returned_of(type_)
        try:
            listing = await self._hooks.discover_devices(type_)
            if fault := listing_fault(listing):
                raise PluginFault(f"device manager {type_} gave a list that cannot be used: {fault}")
            self._accept(type_, listing)
            self._seen_again(back)
            succeeded = True
        except DragomanError as error:
            self._mark(type_, str(error))
            succeeded = False
        except Exception as error:  # noqa: BLE001 - without its task the manager would never be scanned again
            logger.bind(plugin=type_).opt(exception=error).error("the scan of manager {} met a fault", type_)
            self._mark(type_, f"internal error of Dragoman ({error!r}); its log has the details")
            succeeded = False
        await self._refresh_protected()
        if (self._lists.get(type_), self._degraded.get(type_), self._protected) != before:
            self._changed()
        self._check_complete()
        return succeeded

    def _accept(self, type_: str, listing: Inventory) -> None:
        if listing != self._lists.get(type_):
            self._save(type_, listing)
            # A manager may go on changing what it handed out, and the next list would then equal this one.
            self._lists[type_] = deepcopy(listing)
        self._scanned.add(type_)
        if self._degraded.pop(type_, None) is not None:
            logger.bind(plugin=type_).info("manager {} was scanned: {} devices", type_, len(listing.devices))

    def _returned_of(self, type_: str) -> Sequence[AllocationRow]:
        return [row for row in self._returned.values() if row.manager == type_]

    def _seen_again(self, rows: Sequence[AllocationRow]) -> None:
        for row in rows:
            if self._returned.get(row.key.device) is row:  # and not back once more since
                del self._returned[row.key.device]

    def _save(self, type_: str, listing: Inventory) -> None:
        try:
            if self._last is not None:
                self._last.save(type_, listing)
        except DragomanError as error:
            # What this costs is only a list for the case that the first scan of the next life fails.
            logger.bind(plugin=type_).warning("the list of manager {} is not kept over a restart: {}", type_, error)

    def _mark(self, type_: str, reason: str) -> None:
        former = self._degraded.get(type_)
        if former is not None and former.reason == reason:
            return
        self._degraded[type_] = Degraded(reason=reason, since=former.since if former else self._clock.now())
        count = len(self._lists[type_].devices) if type_ in self._lists else 0
        logger.bind(plugin=type_).warning(
            "manager {} could not be scanned, its last list of {} devices stands: {}", type_, count, reason
        )

    async def _refresh_protected(self) -> None:
        faults = []
        try:
            self._protected = await self._read_protected()
        except (DragomanError, OSError) as error:
            faults.append(f"the links that the host needs could not be read, the last ones stand: {error}")
        self._faults.tell(faults)

    # --- the first scans ---------------------------------------------------------------------------------------

    async def _end_first(self) -> None:
        await self._clock.sleep(self._times.first)
        if not self._complete.is_set():
            missing = ", ".join(sorted(self._tasks.keys() - self._scanned))
            logger.warning("the first scan of {} has not succeeded in {} s", missing, self._times.first)
            self._complete.set()

    def _check_complete(self) -> None:
        if self._tasks.keys() <= self._scanned:
            self._complete.set()

    def _changed(self) -> None:
        for callback in self._listeners:
            callback()


def _only(device: str, listing: Inventory) -> Inventory:
    return replace(listing, devices=tuple(item for item in listing.devices if item.name == device))
