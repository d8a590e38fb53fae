"""Start, stop and other settings of the plugins, and the threads of their watch hooks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Protocol

from loguru import logger

from dragoman.hooks.calls import PluginCalls, PluginFault
from dragoman.hooks.results import report_faults
from dragoman.hooks.watches import FIRST, MOST, RealClock, Watch, WatchClock
from dragoman.plugins import LoadedPlugin, PluginSet, PluginState, PluginStatus, Sections
from dragoman_hookspecs import (
    ApplySettings,
    DragomanError,
    HealthReport,
    RunController,
    WatchDevices,
    WatchHealth,
)

OnChange = Callable[[str], None]
OnHealth = Callable[[str, Sequence[HealthReport] | None], None]
RunRequest = Callable[[str, Event], RunController]
"""Gives a controller's plugin, by name, what it needs to run until the event is set."""


class Sleeper(Protocol):
    """The part of the engine's clock that is needed here."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class RealSleeper:
    """The clock of the event loop."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What other settings did.

    ``changed``: names of the plugins that have new settings. ``recreated``: types of the managers among them that were
    made anew: their devices have to be recovered. ``failures``: plugin name to reason; these keep the old settings.
    """

    changed: tuple[str, ...] = ()
    recreated: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)


class Lifecycle:
    """Keeps the plugins started. Callbacks of watches are called on the event loop that ``start`` ran on."""

    def __init__(
        self,
        plugins: PluginSet,
        make_calls: Callable[[LoadedPlugin], PluginCalls],
        *,
        inline: bool = False,
        sleeper: Sleeper | None = None,
        watch_clock: WatchClock | None = None,
        controllers: RunRequest | None = None,
    ) -> None:
        self.served = [make_calls(plugin) for plugin in plugins]
        self.on_change: list[OnChange] = []
        self.on_late_start: list[OnChange] = []
        self.on_health: list[OnHealth] = []
        self._plugins = plugins
        self._make_calls = make_calls
        self._inline = inline
        self._sleeper = sleeper or RealSleeper()
        self._watch_clock = watch_clock or RealClock()
        self._controllers = controllers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started: set[PluginCalls] = set()
        self._watches: dict[PluginCalls, list[Watch]] = {}
        self._retries: dict[PluginCalls, asyncio.Task[None]] = {}
        self._changing = asyncio.Lock()
        self._resting: dict[str, str] = {}
        """Controllers that wait to be begun again, by name, and why they ended."""

    async def start(self) -> None:
        """Start the plugins in their order; one that fails is down, and tried again until ``stop``.

        Those that are started already stay as they are.
        """
        async with self._changing:
            self._loop = asyncio.get_running_loop()
            for calls in self.served:
                if calls not in self._started and calls not in self._retries:
                    await self._start_or_retry(calls)

    async def stop(self) -> None:
        """Stop in reverse. Hanging threads are left behind. Cut short, ``start`` starts again what was stopped."""
        async with self._changing:
            for calls in reversed(self.served):
                await self._stop_one(calls)
                calls.close()
            self._loop = None

    def statuses(self) -> Sequence[PluginStatus]:
        """Tell the state of every plugin, with what its start said, why its controller ended and which calls hang."""
        resting = dict(self._resting)
        said = {each.plugin.status: (each.trouble(), resting.get(each.plugin.status.name)) for each in self.served}
        trouble = {status: "; ".join(filter(None, reasons)) for status, reasons in said.items() if any(reasons)}
        return [
            status.became(PluginState.DEGRADED, trouble[status]) if status in trouble else status
            for status in self._plugins.statuses
        ]

    async def apply_settings(self, sections: Sections) -> Applied:
        """Give each plugin its new section; a failure costs that plugin its change and nobody else anything."""
        changed, recreated, failures = [], [], {}
        async with self._changing:
            for calls in tuple(self.served):
                name = calls.plugin.status.name
                try:
                    outcome = await self._apply(calls, sections)
                except DragomanError as error:
                    failures[name] = str(error)
                    logger.bind(plugin=name).warning(f"{calls.plugin.status} keeps its settings: {error}")
                    continue
                changed += [name] if outcome else []
                recreated += [calls.plugin.status.type] if outcome == "recreated" else []
            for calls in await self._revive(sections):
                changed.append(calls.plugin.status.name)
                recreated.append(calls.plugin.status.type)
        return Applied(changed=tuple(changed), recreated=tuple(filter(None, recreated)), failures=failures)

    async def _start_or_retry(self, calls: PluginCalls) -> None:
        if self._loop is None:
            return  # a passive agent: all plugins are started when it becomes the active one
        if not await self._start_one(calls):
            self._retries[calls] = asyncio.create_task(self._retry(calls))

    async def _start_one(self, calls: PluginCalls) -> bool:
        if calls.plugin.has("start"):
            try:
                await calls.call("start")
            except DragomanError as error:
                calls.down = f"it is not started: {error}"
                return False
        calls.down = ""
        self._started.add(calls)
        self._watch(calls)
        return True

    async def _retry(self, calls: PluginCalls) -> None:
        delay = FIRST
        while True:
            await self._sleeper.sleep(delay)
            if await self._start_one(calls):
                if type_ := calls.plugin.status.type:
                    self._tell(self.on_late_start, type_)
                    self._tell(self.on_change, type_)
                return
            delay = min(2 * delay, MOST)

    async def _stop_one(self, calls: PluginCalls) -> None:
        if retry := self._retries.pop(calls, None):
            retry.cancel()
        for watch in self._watches.pop(calls, ()):
            watch.stop()
        was_started = calls in self._started
        self._started.discard(calls)
        if was_started and calls.plugin.has("stop"):
            with contextlib.suppress(DragomanError):  # is in the log, and nothing else can be done
                await calls.call("stop")
        calls.down = ""

    async def _apply(self, calls: PluginCalls, sections: Sections) -> str:
        """Apply one section: "", "changed" or "recreated". Raises ``DragomanError``; the old settings hold then."""
        old = calls.plugin
        enabled, settings = sections.open(old.descriptor)
        if settings == old.settings and enabled == old.enabled:
            return ""
        by_hook = old.has("apply_settings") and calls in self._started
        if settings != old.settings and not by_hook:
            new = await self._aside(lambda: self._plugins.recreate(old, sections))
            await self._stop_one(calls)
            self._plugins.replace(old, new)
            calls.plugin = new
            await self._start_or_retry(calls)
            return "recreated"
        if settings != old.settings:
            await calls.call("apply_settings", ApplySettings(old=old.settings, new=settings))
        calls.plugin = self._plugins.resettle(old, enabled=enabled, settings=settings)
        return "changed"

    async def _revive(self, sections: Sections) -> list[PluginCalls]:
        revived = [self._make_calls(plugin) for plugin in await self._aside(lambda: self._plugins.revive(sections))]
        self.served = sorted((*self.served, *revived), key=lambda calls: calls.plugin.status.name)
        for calls in revived:
            await self._start_or_retry(calls)
        return revived

    async def _aside(self, function: Callable[[], Any]) -> Any:
        """Run what may take long in another thread; it has a limit of its own."""
        return function() if self._inline else await asyncio.to_thread(function)

    def _watch(self, calls: PluginCalls) -> None:
        plugin, type_ = calls.plugin, calls.plugin.status.type

        def devices(stopped: Event) -> None:
            self._tell(self.on_change, type_)
            request = WatchDevices(changed=lambda: self._tell(self.on_change, type_), stopped=stopped)
            plugin.call("watch_devices", request)

        def health(stopped: Event) -> None:
            plugin.call("watch_health", WatchHealth(report=self._reporter(plugin, stopped), stopped=stopped))

        hooks: dict[str, Callable[[Event], object]] = {"watch_devices": devices, "watch_health": health}
        if self._controllers is not None and plugin.enabled:
            hooks["run_controller"] = self._controller(plugin, self._controllers)
        self._watches[calls] = [
            Watch(f"{plugin.status.name}-{hook}", function, self._failed(plugin, hook), self._watch_clock)
            for hook, function in hooks.items()
            if plugin.has(hook)
        ]
        for watch in self._watches[calls]:
            watch.run_once() if self._inline else watch.start()

    def _controller(self, plugin: LoadedPlugin, make: RunRequest) -> Callable[[Event], None]:
        name = plugin.status.name

        def run(stopped: Event) -> None:
            self._resting.pop(name, None)
            plugin.call("run_controller", make(name, stopped))

        return run

    def _reporter(self, plugin: LoadedPlugin, stopped: Event) -> Callable[[Sequence[HealthReport]], None]:
        def report(reports: Sequence[HealthReport]) -> None:
            if faults := report_faults(reports):
                raise PluginFault(f"watch_health of {plugin.status} reported what is no health: {'; '.join(faults)}")
            if not stopped.is_set():
                self._tell(self.on_health, plugin.status.type, tuple(reports))

        return report

    def _failed(self, plugin: LoadedPlugin, hook: str) -> Callable[[str], None]:
        def failed(reason: str) -> None:
            logger.bind(plugin=plugin.status.name, hook=hook).warning(f"{hook} of {plugin.status} {reason}")
            if hook == "run_controller":
                self._resting[plugin.status.name] = f"run_controller {reason}"
            if hook == "watch_health":
                self._tell(self.on_health, plugin.status.type, None)

        return failed

    def _tell(self, callbacks: Sequence[Callable[..., None]], *arguments: object) -> None:
        """Call back on the event loop, from any thread; after its end there is nobody to tell."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_call_each, tuple(callbacks), arguments)


def _call_each(callbacks: Sequence[Callable[..., None]], arguments: tuple[object, ...]) -> None:
    for callback in callbacks:
        callback(*arguments)
