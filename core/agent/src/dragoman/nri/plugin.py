"""The agent as an NRI plugin: connects, registers, serves, and comes back."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from pathlib import Path

from loguru import logger

from dragoman.clock import Clock
from dragoman.nri._proto.nri_pb2 import RegisterPluginRequest
from dragoman.nri.connection import Connection
from dragoman.nri.mux import PLUGIN_ID, RUNTIME_ID, MuxError
from dragoman.nri.ports import SandboxService
from dragoman.nri.session import DEFAULT_BUDGET, Session
from dragoman.nri.state import Board, NriState
from dragoman.nri.ttrpc import CallError, Code
from dragoman.nri.work import Queues

RUNTIME_SERVICE = "nri.pkg.api.v1alpha1.Runtime"
REGISTRATION_LIMIT = 30.0
"""Seconds for the answer to registering. A runtime takes one plugin after the other and gives each 5 s."""
FIRST_DELAY, LAST_DELAY = 0.1, 2.0
"""Back-off. It stays short, because pods that start meanwhile start without their devices."""
LOOK_EVERY = 5.0
"""Seconds between looks whether the socket is still the one that we are connected to."""
ASK_EVERY = 30.0
"""Seconds between questions whether the runtime still knows us: silence alone does not tell a node without new pods
from a runtime that dropped us and whose end of the connection stayed open."""
QUESTION = "AreYouThere"
"""A call that no runtime has, which its end of the connection answers by itself. UpdateContainers for no container, the
only one that it has, can cost the node its runtime: up to NRI 0.12 a plugin's call and a pod's event take the runtime's
two locks in opposite orders, and where many pods come or go, each then waits for the other for ever
(containerd/containerd#13733)."""
ASK_WITHIN = 10.0
"""Seconds for the answer. A runtime calls its plugins one after the other, and gives each 2 s."""

_Identity = tuple[int, int, int]
"""Device, inode, and when the inode was last changed: a freed number is given again."""


class NriPlugin:
    """Keeps the agent registered with the runtime at ``socket`` as plugin ``<idx>-<name>``.

    ``idx`` is two digits; plugins are called in its order. Raises ``ValueError`` for a name or index that runtimes
    refuse. Nothing else raises: whatever is wrong is a state with its reason, and tried again.
    """

    def __init__(self, service: SandboxService, *, socket: Path, name: str, idx: str, clock: Clock) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_.+-]+", name) or not re.fullmatch(r"[0-9]{2}", idx):
            raise ValueError(f"NRI plugin name {name!r} or index {idx!r} is not allowed: use letters and two digits")
        self._service = service
        self._socket = socket
        self._registration = RegisterPluginRequest(plugin_name=name, plugin_idx=idx)
        self._clock = clock
        self._board = Board(clock)
        self._queues = Queues()

    @property
    def state(self) -> NriState:
        """Give the state of the connection."""
        return self._board.state

    async def wait_for(self, wanted: Callable[[NriState], bool]) -> NriState:
        """Wait until the state is as wanted, and give it."""
        return await self._board.wait_for(wanted)

    async def run(self) -> None:
        """Connect and serve, again and again, until cancelled. Work in progress is then given one budget to end."""
        delay = FIRST_DELAY
        try:
            while True:
                began = self._clock.monotonic()
                self._leave(await self._visit())
                stable = self._clock.monotonic() - began > LAST_DELAY
                delay = FIRST_DELAY if stable else delay
                await self._clock.sleep(delay)
                delay = min(delay * 2, LAST_DELAY)
        finally:
            self._board.update(connected=False, synchronized=False, reason="stopped")
            await self._queues.close(self._clock, DEFAULT_BUDGET)

    def _leave(self, reason: str) -> None:
        if reason != self.state.reason:
            logger.warning(f"NRI not connected: {reason}")
        self._board.update(connected=False, synchronized=False, reason=reason)

    async def _visit(self) -> str:
        """Live through one connection and give the reason of its end."""
        try:
            identity = _identify(self._socket)
            reader, writer = await asyncio.open_unix_connection(str(self._socket))
        except FileNotFoundError:
            return f"no NRI socket at {self._socket}: enable NRI in the runtime"
        except OSError as error:
            return f"nobody answers at the NRI socket {self._socket}: {error.strerror or error}"
        session = Session(self._service, self._board, self._queues, self._clock)
        connection = Connection(reader, writer, session.handle, serves=PLUGIN_ID, calls=RUNTIME_ID, clock=self._clock)
        return await self._converse(connection, identity)

    async def _converse(self, connection: Connection, identity: _Identity) -> str:
        reading = asyncio.ensure_future(connection.run())
        steering = asyncio.ensure_future(self._steer(connection, identity))
        try:
            await asyncio.wait({reading, steering}, return_when=asyncio.FIRST_COMPLETED)
            if steering.done():
                return steering.result()
            with contextlib.suppress(MuxError):
                reading.result()
                return "the runtime closed the connection" + ("" if self.state.connected else " before it synchronized")
            return f"the runtime sent what is not NRI: {reading.exception()}"
        finally:
            reading.cancel()
            steering.cancel()
            await asyncio.gather(reading, steering, return_exceptions=True)

    async def _steer(self, connection: Connection, identity: _Identity) -> str:
        """Register, then watch the socket; give the reason to leave."""
        request = self._registration.SerializeToString()
        try:
            await connection.call(RUNTIME_SERVICE, "RegisterPlugin", request, REGISTRATION_LIMIT)
        except CallError as error:
            full = f"{self._registration.plugin_idx}-{self._registration.plugin_name}"
            return f"the runtime did not register plugin {full}: {error}"
        asked = self._clock.monotonic()
        while not _replaced(self._socket, identity):
            await self._clock.sleep(LOOK_EVERY)
            if self._clock.monotonic() - asked >= ASK_EVERY:
                if not await _knows_us(connection):
                    return f"the runtime gave no answer within {ASK_WITHIN:g} s"
                asked = self._clock.monotonic()
        return f"the NRI socket {self._socket} was replaced"


async def _knows_us(connection: Connection) -> bool:
    """Ask the runtime something. Any answer will do, and it will be that there is no such call."""
    try:
        await connection.call(RUNTIME_SERVICE, QUESTION, b"", ASK_WITHIN)
    except CallError as error:
        return error.code is not Code.DEADLINE_EXCEEDED
    return True


def _identify(path: Path) -> _Identity:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _replaced(path: Path, identity: _Identity) -> bool:
    """Tell whether another socket stands there. None at all is no reason to leave a connection that works."""
    with contextlib.suppress(OSError):
        return _identify(path) != identity
    return False
