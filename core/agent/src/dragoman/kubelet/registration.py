"""Registration with the kubelet: what the kubelet asks, what it decided, and the attempts until it says yes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from loguru import logger

from dragoman.clock import Clock
from dragoman.kubelet._proto import registration_pb2
from dragoman.kubelet.listener import POLL_SECONDS, Listener
from dragoman.kubelet.observed import Observed, within
from dragoman.kubelet.rpc import Handler, service
from dragoman.kubelet.sockets import SocketFailed

PLUGIN_TYPE: Final = "DRAPlugin"
CLOSE_SECONDS: Final = 1.0
"""How long an answer that is being sent may take when the socket is taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How registration is tried: the settings ``draRegistration*``, with the defaults of the source document.

    An attempt waits ``timeout`` seconds for the kubelet's yes. Then, or after a no, the socket is taken back, and
    made again ``interval`` seconds later, which the kubelet sees as a new plugin.
    """

    interval: float = 1.0
    timeout: float = 5.0
    attempts: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationState:
    """Where registration stands.

    ``attempts`` counts those of the present round, ``asked`` the kubelet's GetInfo calls, ``refused`` tells that the
    kubelet's last word was no; ``reason`` says why it is not registered.
    """

    registered: bool = False
    attempts: int = 0
    asked: int = 0
    refused: bool = False
    reason: str = "not announced to the kubelet yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """What the kubelet is told: the driver, the absolute path of its DRA socket, and the services in order."""

    driver: str
    endpoint: Path
    versions: tuple[str, ...]


class Registrar:
    """Announces the driver until the kubelet has registered it, and again whenever that is undone.

    ``state`` is for readiness. Once all attempts are used up the socket stays: the kubelet comes back to it by its
    own back-off (up to two minutes for a path), and a call of it, or a change in the folder, starts a new round.
    """

    def __init__(self, path: Path, info: PluginInfo, retry: Retry, clock: Clock) -> None:
        self.state = Observed(RegistrationState())
        self._info = info
        self._retry = retry
        self._clock = clock
        self._listener = Listener(path, [self._service()], own_folder=False)

    async def run(self) -> None:
        """Announce, and watch over it, until cancelled."""
        while True:
            await self._round()
            await self._settled()

    async def stop(self) -> None:
        """Take the socket back, so that the kubelet forgets the driver."""
        await self._listener.close(CLOSE_SECONDS)
        self._update(registered=False, reason="the agent is stopping")

    async def _round(self) -> None:
        for attempt in range(1, self._retry.attempts + 1):
            await self._announce(attempt)
            if await self._accepted():
                return
            if attempt < self._retry.attempts:
                await self._take_back()
        self._give_up()

    async def _announce(self, attempt: int) -> None:
        self._update(refused=False)
        if self._listener.lost():
            try:
                await self._listener.open()
            except SocketFailed as error:
                self._update(refused=True, reason=str(error))
        self._update(attempts=attempt)
        if not (self.state.value.registered or self.state.value.refused):
            self._update(reason=f"attempt {attempt} of {self._retry.attempts}: no answer of the kubelet yet")

    async def _accepted(self) -> bool:
        """Wait for the kubelet's word. One that has asked who we are gets the full time from then on."""
        asked = self.state.value.asked
        await self._watch(lambda state: state.registered or state.refused or state.asked > asked, self._retry.timeout)
        if self.state.value.asked > asked:
            await self._watch(lambda state: state.registered or state.refused, self._retry.timeout)
        return self.state.value.registered

    async def _settled(self) -> None:
        """Stay until a new round is due."""
        if not self.state.value.registered:
            await self._idle()
            return
        await self._watch(lambda state: not state.registered, None)
        if self.state.value.refused:
            await self._take_back()
        else:
            self._update(registered=False, reason=f"the registration socket {self._listener.path} was lost")

    async def _idle(self) -> None:
        """Wait for the kubelet to call, or for somebody to touch the folder."""
        if self._listener.lost():
            await self._clock.sleep(POLL_SECONDS)
        asked = self.state.value.asked
        folder = _stamp(self._listener.path.parent)
        await self._watch(lambda state: state.registered or state.asked > asked, None, folder)

    async def _watch(
        self, wanted: Callable[[RegistrationState], bool], seconds: float | None, folder: object = None
    ) -> None:
        """Wait until the state is as wanted, the time is over, or the socket file is lost (or the folder changed)."""
        deadline = None if seconds is None else self._clock.monotonic() + seconds
        while not self._listener.lost():
            left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - self._clock.monotonic())
            if left <= 0 or await within(self._clock, left, self.state.wait(wanted)):
                return
            if folder is not None and _stamp(self._listener.path.parent) != folder:
                return

    async def _take_back(self) -> None:
        logger.warning("registration is tried again: {}", self.state.value.reason)
        await self._listener.close(CLOSE_SECONDS)
        self._update(registered=False)
        await self._clock.sleep(self._retry.interval)

    def _give_up(self) -> None:
        reason = f"{self._retry.attempts} attempts used up; {self.state.value.reason}; waiting for the kubelet"
        self._update(reason=reason)
        logger.error("not registered with the kubelet: {}", reason)

    def _service(self) -> Handler:
        methods = {"GetInfo": self._get_info, "NotifyRegistrationStatus": self._notify}
        return service(registration_pb2.DESCRIPTOR, "Registration", methods)

    async def _get_info(self, _request: Any, _context: Any) -> registration_pb2.PluginInfo:
        self._update(asked=self.state.value.asked + 1)
        return registration_pb2.PluginInfo(
            type=PLUGIN_TYPE,
            name=self._info.driver,
            endpoint=str(self._info.endpoint),
            supported_versions=self._info.versions,
        )

    async def _notify(self, request: registration_pb2.RegistrationStatus, _context: Any) -> Any:
        """Take the kubelet's word. Always answered with success: an error to a yes makes it deregister the driver."""
        if request.plugin_registered:
            self._update(registered=True, refused=False, reason="")
            logger.info("registered with the kubelet as {}", self._info.driver)
        else:
            self._update(registered=False, refused=True, reason=f"the kubelet refused: {request.error}")
            logger.error("the kubelet refused the registration: {}", request.error)
        return registration_pb2.RegistrationStatusResponse()

    def _update(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))


def _stamp(folder: Path) -> object:
    """Give what changes when somebody makes or removes files in the folder, or the folder itself."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns
