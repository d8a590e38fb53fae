"""The kubelet edge as a whole: what the application builds, starts and stops."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loguru import logger

from dragoman.clock import Clock
from dragoman.kubelet.calls import Calls
from dragoman.kubelet.dra import DRA_VERSIONS, dra_services
from dragoman.kubelet.health import HEALTH_VERSIONS, health_services
from dragoman.kubelet.listener import Listener
from dragoman.kubelet.observed import Observed
from dragoman.kubelet.ports import ClaimService, HealthSource
from dragoman.kubelet.registration import PluginInfo, Registrar, RegistrationState, Retry
from dragoman.kubelet.sockets import dra_socket, registration_socket

KUBELET_ROOT: Final = Path("/var/lib/kubelet")
DRAIN_SECONDS: Final = 10.0
REPLY_SECONDS: Final = 1.0
"""Time for replies on their way when the DRA server ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletOptions:
    """Who we are to the kubelet. ``pod_uid`` goes into the socket names, for rolling updates; "" leaves it out."""

    driver: str
    node: str
    root: Path = KUBELET_ROOT
    pod_uid: str = ""
    retry: Retry = field(default_factory=Retry)


class KubeletEdge:
    """Serves the kubelet: first ``serve``, then ``register``, at the end ``stop``; ``rest`` while another agent serves.

    Raises ``SocketPathTooLong`` when it is built with a root that leaves no room for the socket names.
    """

    def __init__(self, options: KubeletOptions, claims: ClaimService, health: HealthSource, clock: Clock) -> None:
        endpoint = dra_socket(options.root / "plugins", options.driver, options.pod_uid)
        info = PluginInfo(driver=options.driver, endpoint=endpoint, versions=(*DRA_VERSIONS, *HEALTH_VERSIONS))
        path = registration_socket(options.root / "plugins_registry", options.driver, options.pod_uid)
        self._clock = clock
        self._calls = Calls(clock)
        self._ending = asyncio.Event()
        streams = health_services(health, options.node, clock, self._ending)
        services = [*dra_services(claims, self._calls), *streams]
        self._dra = Listener(endpoint, services, own_folder=True)
        self._registrar = Registrar(path, info, options.retry, clock)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def registration(self) -> Observed[RegistrationState]:
        """Where registration stands; readiness follows it."""
        return self._registrar.state

    async def serve(self) -> None:
        """Listen on the DRA socket, and make it again when it is lost. Raises ``SocketFailed``."""
        if self._dra.lost():
            await self._dra.open()
        self._start(self._dra.keep(self._clock))

    def register(self) -> None:
        """Begin to announce the driver. The DRA socket must be served: the kubelet dials it at once."""
        self._start(self._registrar.run())

    async def rest(self) -> None:
        """Go on answering, but make no socket again, until ``serve`` and ``register``.

        An agent that has handed over would otherwise take a name back that both use.
        """
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def stop(self, drain: float = DRAIN_SECONDS) -> None:
        """Take the registration back, let running calls end within ``drain`` seconds, then close the DRA socket."""
        await self.rest()
        await self._registrar.stop()
        if left := await self._calls.drain(drain):
            logger.warning("{} calls of the kubelet still run after {} s", left, drain)
        self._ending.set()
        await self._dra.close(REPLY_SECONDS)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(_report)
        self._tasks.append(task)


def _report(task: asyncio.Task[None]) -> None:
    """Say at once when a task that should run for ever has died."""
    if not task.cancelled() and (error := task.exception()):
        logger.opt(exception=error).critical("a task of the kubelet edge died; restart the agent")
