"""Health of devices: what managers report, how long it counts, and what the kubelet and the scheduler hear of it.

- Bad news are passed on at once, good news after they have stood for a while: a device that flaps stays unhealthy.
- A report counts for its time-out. Then, or when the manager's watch has failed, the health is unknown.
- A manager that does not watch health vouches for its devices by scanning: those that its last scan saw are healthy,
  and while its scans fail they are unknown. A device that only the ledger knows (inside a pod, out of the manager's
  sight) is unknown: nobody has looked at it.
- An unhealthy device is tainted so that no new pod gets it; an unknown one is not.
- Over a restart an unhealthy device stays so until its manager reports again, or its last report would have expired.
- The kubelet looks at a pod again when a report about one of its devices differs from the last: that is how a pod whose
  device came late starts at once (see ``touch``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from loguru import logger

from dragoman.clock import Clock
from dragoman.engine.inventory import NodeInventory
from dragoman.engine.wakeup import Wakeup
from dragoman.hooks import Hooks, PluginMissing
from dragoman.model.stock import Stocked
from dragoman_hookspecs import DragomanError, Health, HealthReport, Taint

DEFAULT_TIMEOUT = 30.0
"""Seconds that a report counts where it does not say (the kubelet's default)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthTimes:
    """Seconds: how long good news must stand, and how long a scan vouches for devices without a health watch.

    ``lease`` should be twice the time between scans. ``resend``: until all is told again although nothing changed.
    """

    settle: float = 10.0
    resend: float = 10.0
    lease: float = 120.0


class LastReports(Protocol):
    """Keeps the reports of unhealthy devices over a restart."""

    def load(self) -> Sequence[tuple[str, HealthReport]]:
        """Give those that were saved last, by manager."""

    def save(self, reports: Sequence[tuple[str, HealthReport]]) -> None:
        """Keep them."""


@dataclass(slots=True)
class _Entry:
    """The last report of a device, when it came, what was passed on, and until when good news are held back."""

    report: HealthReport
    at: float
    shown: Health
    held_until: float | None = None

    @property
    def expires(self) -> float:
        return self.at + self.report.timeout


class HealthBoard:
    """Collects health and satisfies the kubelet edge's ``HealthSource``."""

    def __init__(
        self,
        *,
        hooks: Hooks,
        inventory: NodeInventory,
        clock: Clock,
        driver: str,
        times: HealthTimes | None = None,
        last: LastReports | None = None,
    ) -> None:
        self._hooks = hooks
        self._inventory = inventory
        self._clock = clock
        self._times = times or HealthTimes()
        self._last = last
        self._kept: frozenset[tuple[str, str]] = frozenset()
        self._taint = Taint(key=f"{driver}/unhealthy", value="true", effect="NoSchedule")
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._failed: set[str] = set()
        self._shown: dict[str, Health] = {}
        self._touched: frozenset[str] = frozenset()
        self._bell = Wakeup()
        self._watchers: set[Wakeup] = set()
        self._listeners: list[Callable[[], None]] = []
        hooks.on_health(self.receive)
        inventory.on_change(self._bell.ring)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have ``callback()`` called on the event loop when the health of a device changed."""
        self._listeners.append(callback)

    async def run(self) -> None:
        """Let reports expire and good news pass, until cancelled."""
        self._recall()
        while True:
            self._pass_time()
            self._compare()
            await self._bell.heard(self._clock, self._until_next())

    def receive(self, manager: str, reports: Sequence[HealthReport] | None) -> None:
        """Take reports of a manager, or None when its watch has failed: then nothing that it said counts any more."""
        if reports is None:
            self._failed.add(manager)
            self._entries = {key: entry for key, entry in self._entries.items() if key[0] != manager}
        else:
            self._failed.discard(manager)
            for report in reports:
                self._enter(manager, report)
        self._bell.ring()

    def reports(self) -> tuple[HealthReport, ...]:
        """Give the health of every device, as it is passed on at this moment, by name."""
        self._pass_time()
        degraded = self._inventory.degraded()
        items = self._inventory.stock().devices
        return tuple(
            self._judge(item, degraded[item.manager].reason if item.manager in degraded else "")
            for item in items
            if not item.withheld
        )

    def taints(self) -> Mapping[str, Taint]:
        """Give the taint of each unhealthy device, by name."""
        return {report.device: self._taint for report in self.reports() if report.health is Health.UNHEALTHY}

    def touch(self, devices: Iterable[str]) -> None:
        """Have the kubelet look at the pods with these devices at once: their devices came late.

        By itself it tries a container that the runtime has refused every 10 to 15 s. A time-out that is a second
        longer, or shorter again, is a change to it (1.36 and later), and tells nobody anything else.
        """
        self._touched ^= frozenset(devices)
        self._ring()

    async def watch(self) -> AsyncIterator[Sequence[HealthReport]]:
        """Yield a complete list at once, on each change, and again within a third of the shortest time-out."""
        bell = Wakeup()
        self._watchers.add(bell)
        try:
            while True:
                reports = self.reports()
                self._touched &= {report.device for report in reports}
                yield [self._marked(report) for report in reports]
                shortest = min((report.timeout for report in reports), default=DEFAULT_TIMEOUT)
                await bell.heard(self._clock, min(shortest / 3, self._times.resend))
        finally:
            self._watchers.discard(bell)

    def _marked(self, report: HealthReport) -> HealthReport:
        if report.device not in self._touched:
            return report
        return replace(report, timeout=max(report.timeout, 1.0) + 1.0)

    def _ring(self) -> None:
        for bell in self._watchers:
            bell.ring()

    # --- one report --------------------------------------------------------------------------------------------

    def _enter(self, manager: str, report: HealthReport) -> None:
        if report.timeout <= 0:
            report = replace(report, timeout=DEFAULT_TIMEOUT)
        now = self._clock.monotonic()
        entry = self._entries.get((manager, report.device))
        if entry is None or now >= entry.expires:
            self._entries[manager, report.device] = _Entry(report, now, report.health)
            return
        entry.report, entry.at = report, now
        if report.health is not Health.HEALTHY or entry.shown is not Health.UNHEALTHY:
            entry.shown, entry.held_until = report.health, None
        elif entry.held_until is None:
            entry.held_until = now + self._times.settle

    def _pass_time(self) -> None:
        now = self._clock.monotonic()
        for entry in self._entries.values():
            if entry.held_until is not None and now >= entry.held_until:
                entry.shown, entry.held_until = entry.report.health, None

    def _until_next(self) -> float | None:
        """Give the seconds until a report expires or good news pass; None where nothing is pending."""
        now = self._clock.monotonic()
        moments = [entry.expires for entry in self._entries.values() if entry.expires > now]
        moments += [entry.held_until for entry in self._entries.values() if entry.held_until is not None]
        return max(0.0, min(moments) - now) if moments else None

    # --- what is passed on -------------------------------------------------------------------------------------

    def _judge(self, item: Stocked, degraded: str) -> HealthReport:
        name, manager = item.device.name, item.manager
        try:
            if not self._hooks.has_health(manager):
                return self._judge_unwatched(item, degraded)
        except PluginMissing as error:
            return _unknown(name, str(error))
        entry = self._entries.get((manager, name))
        if entry is None:
            failed = manager in self._failed
            return _unknown(
                name, f"the health watch of manager {manager} {'has failed' if failed else 'has not reported it yet'}"
            )
        if self._clock.monotonic() >= entry.expires:
            return _unknown(name, f"manager {manager} has not reported its health for {entry.report.timeout:g} s")
        if entry.held_until is not None:
            return replace(entry.report, health=entry.shown, message="healthy again, but not yet for long enough")
        return entry.report

    def _judge_unwatched(self, item: Stocked, degraded: str) -> HealthReport:
        name, manager = item.device.name, item.manager
        if degraded:
            return _unknown(name, f"manager {manager} cannot be scanned: {degraded}")
        if not item.seen:
            return _unknown(name, f"it is inside a pod, where manager {manager} does not see it")
        return HealthReport(device=name, health=Health.HEALTHY, timeout=self._times.lease)

    def _recall(self) -> None:
        now = self._clock.monotonic()
        for manager, report in self._last.load() if self._last else ():
            self._entries.setdefault((manager, report.device), _Entry(report, now, report.health))

    def _keep(self) -> None:
        now = self._clock.monotonic()
        bad = {k: e.report for k, e in self._entries.items() if e.shown is Health.UNHEALTHY and now < e.expires}
        if self._last is None or bad.keys() == self._kept:
            return
        try:
            self._last.save(
                [(manager, report) for (manager, _), report in sorted(bad.items(), key=lambda item: item[0])]
            )
            self._kept = frozenset(bad)
        except DragomanError as error:
            # What this costs is only a taint in the first moments of the next life.
            logger.warning("the unhealthy devices are not kept over a restart: {}", error)

    def _compare(self) -> None:
        """Wake those who listen if the health of a device changed; another message alone waits for the next time."""
        self._keep()
        reports = self.reports()
        shown = {report.device: report.health for report in reports}
        self._forget_gone(set(shown))
        if shown == self._shown:
            return
        for report in reports:
            if report.health is Health.UNHEALTHY and self._shown.get(report.device) is not Health.UNHEALTHY:
                logger.bind(device=report.device).warning("device {} is unhealthy: {}", report.device, report.message)
        self._shown = shown
        self._ring()
        for callback in self._listeners:
            callback()

    def _forget_gone(self, devices: set[str]) -> None:
        now = self._clock.monotonic()
        self._entries = {key: entry for key, entry in self._entries.items() if key[1] in devices or now < entry.expires}


def _unknown(device: str, message: str) -> HealthReport:
    return HealthReport(device=device, health=Health.UNKNOWN, message=message, timeout=DEFAULT_TIMEOUT)
