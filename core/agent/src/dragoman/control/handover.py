"""Handover on the wire: a few calls on one connection, which then stays open for as long as the newcomer lives.

``surroundings`` asks what the holder sees of the node, which the newcomer must see as well. ``handover``
(``pid``, ``version``) asks the holder to give up the lock; the answer comes when it is free. ``serving`` tells that the
newcomer has recovered and serves at the control socket. The end of the connection tells that it died.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from dragoman.control.client import Connection
from dragoman.control.messages import RemoteError, UnknownMethod
from dragoman.control.server import Call, Handler
from dragoman.control.surroundings import Namespaces, Surroundings, compare
from dragoman.model.errors import Refused

ANSWER_WITHIN = 60.0
"""Seconds that a newcomer waits for the lock to be given up: more than a holder takes to drain."""


class Newcomer(Protocol):
    """The other agent, as the holder sees it."""

    @property
    def lost(self) -> bool:
        """Whether it is gone."""

    async def wait_lost(self) -> None:
        """Wait until it is gone."""


class Holder(Protocol):
    """The agent that is asked."""

    async def hand_over(self, newcomer: Newcomer, name: str) -> None:
        """Give up the lock. Raises ``DragomanError`` where that cannot be now."""

    async def newcomer_serves(self, newcomer: Newcomer) -> None:
        """Learn that the newcomer is active."""


class LifeLine:
    """The newcomer's end of the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def serving(self) -> None:
        """Tell the holder that this agent is active. Raises ``Unavailable`` or ``RemoteError``."""
        await self._connection.call("serving", seconds=ANSWER_WITHIN)

    def close(self) -> None:
        """Cut the line: the holder takes the lock back if it can."""
        self._connection.close()


class LockRequest:
    """Asks the agent at a control socket for the lock of the node."""

    def __init__(self, path: Path, version: str, namespaces: Namespaces, answer_within: float = ANSWER_WITHIN) -> None:
        self._path = path
        self._version = version
        self._namespaces = namespaces
        self._answer_within = answer_within

    async def ask(self) -> LifeLine:
        """Have the lock given up. Raises ``Unavailable`` where nobody answers, or ``Refused`` with the holder's reason.

        Raises ``OtherSurroundings`` before anything is given up where this agent does not see what the holder sees, or
        ``DeviceError`` where it cannot look. The lock is free when this returns, and the caller takes it; others might,
        too.
        """
        connection = await Connection.open(self._path)
        try:
            await self._compare(connection)
            params = {"pid": os.getpid(), "version": self._version}
            await connection.call("handover", params, seconds=self._answer_within)
        except RemoteError as error:
            connection.close()
            raise Refused(f"the active agent does not hand over now: {error}") from error
        except BaseException:
            connection.close()
            raise
        return LifeLine(connection)

    async def _compare(self, connection: Connection) -> None:
        async def tell() -> Surroundings:
            answer = await connection.call("surroundings", seconds=self._answer_within)
            try:
                return msgspec.convert(answer, Surroundings)
            except msgspec.ValidationError as error:
                raise Refused(f"the active agent tells what it sees in a way that cannot be read: {error}") from error

        try:
            await compare(tell, self._namespaces)
        except RemoteError as error:
            # A holder of a former release cannot tell, and an update from it must be possible.
            if error.kind != UnknownMethod.__name__:
                raise


def handlers(holder: Holder) -> Mapping[str, Handler]:
    """Give the methods that ``LockRequest`` and ``LifeLine`` call."""

    async def hand_over(call: Call) -> object:
        pid, version = call.params.get("pid"), call.params.get("version")
        await holder.hand_over(call.peer, f"process {pid} of release {version}")
        return {"released": True}

    async def serving(call: Call) -> object:
        await holder.newcomer_serves(call.peer)
        return {}

    return {"handover": hand_over, "serving": serving}
