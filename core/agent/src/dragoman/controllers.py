"""The host of cluster controllers: runs those of the installed plugins against one API server until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence

from loguru import logger

from dragoman.background import unless
from dragoman.clock import Clock, SystemClock
from dragoman.exposition import Exposition, Metrics, Readiness
from dragoman.hooks import Hooks
from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient
from dragoman.kube.cluster import KubeCluster
from dragoman.plugins import PluginSet, PluginState, PluginStatus
from dragoman_hookspecs import DragomanError, RunController

FIELD_MANAGER = "dragoman-controller"


class NotServed(DragomanError):
    """The address of metrics and probes cannot be served."""


class NoControllers(DragomanError):
    """No installed plugin is a controller that can run."""


class ControllerHost:
    """Runs the controllers of ``plugins``; each in a thread of its own, begun again when it fails."""

    def __init__(
        self, plugins: PluginSet, access: Access, *, listen: tuple[str, int] | None, clock: Clock | None = None
    ) -> None:
        """``listen``: address of metrics and probes, None for no port. Raises ``NoControllers``."""
        names = [each.status.name for each in plugins if each.has("run_controller") and each.enabled]
        if not names:
            told = "; ".join(f"{status}: {status.reason}" for status in plugins.statuses if status.reason)
            raise NoControllers(f"no controller is installed and enabled{f' ({told})' if told else ''}")
        self._plugins = plugins
        self._access = access
        self._listen = listen
        self._clock = clock or SystemClock()
        self._metrics = Metrics()
        self._readiness = Readiness(names)
        self.port: int | None = None
        """The port that is served, once it is."""

    async def run(self, stopped: asyncio.Event) -> None:
        """Run until ``stopped``. Raises ``Refused`` without access to an API server, ``NotServed`` for its address."""
        async with contextlib.aclosing(KubeClient(self._access, timeout=60.0)) as client:
            if not await unless(stopped, client.connect()):
                return
            cluster = KubeCluster(client, self._clock, asyncio.get_running_loop(), manager=FIELD_MANAGER)

            def request(plugin: str, ends: threading.Event) -> RunController:
                self._readiness.begun(plugin)
                return RunController(
                    cluster=cluster,
                    stopped=ends,
                    metrics=lambda text: self._metrics.offer(plugin, text),
                    ready=lambda reason: self._readiness.offer(plugin, reason),
                )

            hooks = Hooks(self._plugins, controllers=request)
            await hooks.start()
            try:
                await self._serve(hooks, stopped)
            finally:
                await hooks.stop()
        logger.info("the controllers have stopped")

    async def _serve(self, hooks: Hooks, stopped: asyncio.Event) -> None:
        logger.info("controllers run: {}", ", ".join(_running(hooks.statuses())))
        if self._listen is None:
            await stopped.wait()
            return
        try:
            exposition = Exposition(self._listen, self._metrics, lambda: self._trouble(hooks.statuses()))
        except OSError as error:
            host, port = self._listen
            raise NotServed(f"port {port} of {host or 'this machine'} cannot be served: {error}") from error
        with exposition:
            self.port = exposition.port
            logger.info("metrics and probes are served at port {}", exposition.port)
            await stopped.wait()

    def _trouble(self, statuses: Sequence[PluginStatus]) -> str:
        resting = {each.name: each.reason for each in statuses if each.state is PluginState.DEGRADED}
        reasons = self._readiness.reasons() | resting
        return "; ".join(f"{name}: {reason}" for name, reason in sorted(reasons.items()))


def _running(statuses: Sequence[PluginStatus]) -> list[str]:
    return [status.name for status in statuses if status.state is PluginState.LOADED]
