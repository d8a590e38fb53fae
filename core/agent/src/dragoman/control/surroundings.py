"""What two agents of a node must see alike before one gives up the lock to the other.

A newcomer in another network namespace, or one that does not see the network namespaces of the pods, would take every
device for lost and every pod for ended. It asks first (``surroundings``), compares what the active agent tells with
what it sees itself, and gives up before anything has changed. Mount namespaces are not compared: each container has its
own. An agent of a former release knows neither question nor answer; with one, it goes without.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from dragoman.control.server import Call, Handler
from dragoman.model.errors import OtherSurroundings
from dragoman.model.records import AttachmentRow
from dragoman_hookspecs import DeviceError, Netns


class Namespaces(Protocol):
    """Looks at network namespaces. Both methods raise ``DeviceError``."""

    async def own_netns(self) -> Netns:
        """Name the namespace that this agent works in."""

    async def same_netns(self, namespace: Netns) -> bool:
        """Tell whether the path names the namespace with that cookie, as this agent sees it."""


class Living(msgspec.Struct, frozen=True):
    """The network namespace of a pod that has devices, alive as the active agent sees it."""

    path: str
    cookie: str
    pod: str


class Surroundings(msgspec.Struct, frozen=True):
    """What the active agent tells: its process id, the cookie of its own network namespace, and the pods' that live."""

    pid: int
    network: str
    living: tuple[Living, ...]


def handlers(namespaces: Namespaces, attachments: Callable[[], Sequence[AttachmentRow]]) -> Mapping[str, Handler]:
    """Give the method that newcomers call; ``attachments`` raises ``Unavailable`` while this agent is not active."""

    async def surroundings(_: Call) -> object:
        living = [
            Living(row.netns_path, row.netns_cookie, f"{row.pod_namespace}/{row.pod_name}")
            for row in {row.netns: row for row in attachments()}.values()
            if await _lives(namespaces, row.netns)
        ]
        return Surroundings(os.getpid(), (await namespaces.own_netns()).cookie, tuple(living))

    return {"surroundings": surroundings}


async def compare(tell: Callable[[], Awaitable[Surroundings]], namespaces: Namespaces) -> None:
    """Look at all that the active agent tells. Raises ``OtherSurroundings``, or ``DeviceError``, or as ``tell``."""
    told = await tell()
    if (await namespaces.own_netns()).cookie != told.network:
        raise OtherSurroundings(
            f"this agent is in another network namespace than the active one (process {told.pid}), so nothing is taken "
            "over: run it in the network namespace of the host (hostNetwork: true); if it is the active one that is "
            "not there, end that first (delete its pod)"
        )
    unseen = [pod for pod in told.living if not await namespaces.same_netns(Netns(path=pod.path, cookie=pod.cookie))]
    if not unseen:
        return
    # A pod may have ended since it was told of; what lives after the look was there to be seen.
    again = await tell()
    if unseen := [pod for pod in unseen if pod in again.living]:
        raise OtherSurroundings(_not_seen(unseen, told.pid))


async def _lives(namespaces: Namespaces, namespace: Netns) -> bool:
    # What this agent cannot look at itself is nothing to hold against another.
    with suppress(DeviceError):
        return await namespaces.same_netns(namespace)
    return False


def _not_seen(unseen: Sequence[Living], pid: int) -> str:
    first = unseen[0]
    others = f" (and {len(unseen) - 1} more)" if unseen[1:] else ""
    if first.path.startswith("/proc/"):
        remedy = "run it in the process namespace of the host (hostPID: true)"
    else:
        remedy = f"mount {Path(first.path).parent} of the host into it, with mountPropagation: HostToContainer"
    return (
        f"this agent does not see the network namespace {first.path} of pod {first.pod}{others}, which the active "
        f"one (process {pid}) sees and has devices in, so nothing is taken over: {remedy}"
    )
