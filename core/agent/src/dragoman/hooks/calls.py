"""Calls of the hooks of one plugin: threads, limits, checked results, and one kind of error for each kind of fault."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from loguru import logger

from dragoman.hooks.results import result_faults
from dragoman.hooks.workers import Call, Inline, NeverBegan, Runner, StillRunning, TimedOut, Worker
from dragoman.plugins import LoadedPlugin
from dragoman.schema.faults import described
from dragoman_hookspecs import Allocation, DeviceManager, DragomanError, InvalidConfig

_HARMLESS = frozenset({"stop", "check_config", "plan_device", "device_metadata", "container_edits"})
"""Hooks that change no device and no file, whenever they return. A scan does not either and has a thread apart."""


class PluginFault(DragomanError):
    """A hook raised something that is not a DragomanError, or answered with the wrong type. Names plugin and hook."""


class PluginTimeout(DragomanError):
    """A hook passed its limit; its effect is unknown until it returns. Names plugin, hook and limit."""


class PluginMissing(DragomanError):
    """No plugin of that type is loaded. Names the type and what to install or enable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long each hook may take, in seconds, from when its thread takes it up; ``queue``: how long that may take."""

    queue: float = 20.0
    start: float = 10.0
    stop: float = 10.0
    apply_settings: float = 10.0
    discover_devices: float = 30.0
    check_config: float = 2.0
    plan_device: float = 20.0
    setup_device: float = 20.0
    attach_device: float = 20.0
    detach_device: float = 20.0
    free_device: float = 20.0
    recover_devices: float = 60.0
    device_metadata: float = 2.0
    container_edits: float = 2.0
    write_metadata: float = 10.0
    remove_metadata: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a call is about, for messages and the log; ``key`` is what no second call may touch meanwhile."""

    device: str = ""
    claim: str = ""
    key: Hashable = None

    def __str__(self) -> str:
        device = f" for device {self.device}" if self.device else ""
        claim = f" of claim {self.claim}" if self.claim else ""
        return device + claim


NOTHING = About()


def about(allocation: Allocation) -> About:
    """Tell what a call on an allocated device is about; shares of one device are apart."""
    share = f" share {allocation.share_id}" if allocation.share_id else ""
    name = f"{allocation.claim_namespace}/{allocation.claim_name} ({allocation.claim_uid})"
    device = allocation.device.name
    return About(device=device + share, claim=name, key=(device, allocation.share_id))


class PluginCalls:
    """Calls the hooks of one plugin. A scan has a thread apart, so that an attach never waits for one.

    ``down``: why no hook but ``start`` and ``stop`` may be called; empty while the plugin works.
    """

    def __init__(self, plugin: LoadedPlugin, limits: Limits, *, inline: bool = False) -> None:
        self.plugin = plugin
        self.down = ""
        self._limits = limits
        threads = plugin.descriptor.concurrent if isinstance(plugin.descriptor, DeviceManager) else 1
        self._worker = _runner(plugin.status.name, threads, inline=inline)
        self._scanner = _runner(f"{plugin.status.name}-scan", 1, inline=inline)

    def trouble(self) -> str:
        """Say what keeps the plugin from serving everything; empty while nothing does."""
        hanging = [*self._worker.left_behind(), *self._scanner.left_behind()]
        return "; ".join(filter(None, [self.down, *(f"{call} has not returned yet" for call in hanging)]))

    def unfinished(self) -> list[str]:
        """Name the calls past their limit that may still change something when they go on."""
        return [call for call in self._worker.left_behind() if call.partition(" ")[0] not in _HARMLESS]

    def close(self) -> None:
        """Let idle threads end; none is waited for."""
        self._worker.close()
        self._scanner.close()

    async def call(self, hook: str, request: object = None, *, about: About = NOTHING, patient: bool = False) -> Any:
        """Call a hook and check its result.

        ``patient``: wait for a call on the same device that was left behind. Raises the plugin's own ``DragomanError``
        unchanged, ``PluginFault`` or ``PluginTimeout``.
        """
        bound = logger.bind(plugin=self.plugin.status.name, hook=hook, device=about.device, claim=about.claim)
        began = time.monotonic()
        try:
            result = await self._checked(hook, request, about, patient=patient)
        except InvalidConfig as error:
            bound.debug(f"{hook} refused the configuration after {time.monotonic() - began:.3f} s: {error}")
            raise
        except DragomanError as error:
            bound.warning(f"{hook} failed after {time.monotonic() - began:.3f} s: {error}")
            bound.opt(exception=error).debug(f"where {hook} failed")
            raise
        bound.debug(f"{hook} took {time.monotonic() - began:.3f} s")
        return result

    async def _checked(self, hook: str, request: object, about: About, *, patient: bool) -> Any:
        if self.down and hook not in {"start", "stop"}:
            raise PluginFault(f"{self.plugin.status} cannot be asked to {hook}{about}: {self.down}")
        result = await self._run(hook, request, about, patient=patient)
        if faults := result_faults(hook, request, result):
            raise PluginFault(f"{self._what(hook, about)} gave a wrong result: {'; '.join(faults)}")
        return result

    async def _run(self, hook: str, request: object, about: About, *, patient: bool) -> Any:
        plugin, limit = self.plugin, getattr(self._limits, hook)
        # A plugin that hangs must not hold up the end of the agent for longer than its own stop may.
        queue = limit if hook == "stop" else self._limits.queue
        call = Call(
            lambda: plugin.call(hook, request),
            name=f"{hook}{about}",
            limit=limit,
            queue=queue,
            key=about.key or hook,
            patient=patient,
        )
        runner = self._scanner if hook == "discover_devices" else self._worker
        what = self._what(hook, about)
        try:
            await runner.run(call)
        except TimedOut:
            message = f"{what} did not return within {limit:g} s; what it did is unknown until it returns"
            raise PluginTimeout(message) from None
        except NeverBegan as busy:
            message = f"{what} did not begin within {queue:g} s: the plugin is busy with {busy.args[0]}"
            raise PluginTimeout(message) from None
        except StillRunning as earlier:
            message = f"{what} must wait: {earlier.args[0]} has not returned yet"
            raise PluginTimeout(message) from None
        return _answer(call, what)

    def _what(self, hook: str, about: About) -> str:
        return f"{hook} of {self.plugin.status}{about}"


def _answer(call: Call, what: str) -> Any:
    error = call.take_error()
    if error is None:
        return call.result
    if isinstance(error, DragomanError):
        raise error
    raise PluginFault(f"{what} raised {described(error)}") from error


def _runner(name: str, threads: int, *, inline: bool) -> Runner:
    return Inline() if inline else Worker(f"dragoman {name}", threads)
