"""The edge to the kernel's links: what core itself does with them, over the kit, never on the event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ParamSpec, TypeVar

from dragoman.threads import DaemonThreads
from dragoman_hookspecs import Attached, DeviceError, HostPaths, JsonObject, Link, Netns
from dragoman_kit import links, netns, uplinks
from dragoman_kit.configure import step
from dragoman_kit.netlink import Netlink

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 4


class HostLinks:
    """Satisfies the engine's ``Links``.

    The threads are its own: a hook that hangs occupies none of them, and a call that hangs keeps no process alive. They
    work in the network namespace that this process started in.
    """

    def __init__(self, host: HostPaths | None = None, *, threads: int = _THREADS) -> None:
        self._host = host or HostPaths()
        self._threads = DaemonThreads("links", threads)

    def close(self) -> None:
        """Let the threads end after what they do now."""
        self._threads.close()

    async def netns(self, path: str) -> Netns:
        """Name the namespace behind a path, with its cookie. Raises ``FileNotFoundError`` or ``DeviceError``."""
        return await self._run(_identify, path)

    async def own_netns(self) -> Netns:
        """Name the namespace that all this is done in; the path is good for nothing. Raises ``DeviceError``."""
        return await self._run(_own)

    async def same_netns(self, namespace: Netns) -> bool:
        """Tell whether the path still names the namespace with that cookie. Raises ``DeviceError``."""
        return await self._run(_same, namespace)

    async def snapshot(self, link: Link) -> JsonObject:
        """Read the host side of a link. Raises ``LinkMissing``, ``ForeignLink`` or ``DeviceError``."""
        return await self._run(links.snapshot, link, host=self._host)

    async def interfaces(self, namespace: Netns) -> Sequence[str]:
        """List the interface names inside a namespace, alternative names too: they are as taken as the others.

        Raises ``DeviceError``.
        """
        return await self._run(_interfaces, namespace)

    async def find_inside(self, link: Link, namespace: Netns) -> tuple[JsonObject, Attached] | None:
        """Find a link inside a namespace by its identity; None where it, or the namespace, is not there.

        Gives a snapshot of its host side as far as the kernel still knows it, and what the pod sees.
        Raises ``ForeignLink`` or ``DeviceError``.
        """
        return await self._run(links.find_inside, link, namespace)

    async def restore(self, snapshot: JsonObject, namespace: Netns | None) -> None:
        """Bring a link back to the host and make it as it was; a link that is gone is success.

        Raises ``ForeignLink`` or ``DeviceError``.
        """
        await self._run(links.move_back, snapshot, namespace, host=self._host)

    async def protected(self) -> frozenset[str]:
        """List the host links that must not be published as exclusive. Raises ``DeviceError``."""
        return await self._run(_protected)

    async def _run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._threads.run(partial(function, *args, **kwargs))


def _identify(path: str) -> Netns:
    try:
        return netns.identify(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DeviceError(f"cannot look at the network namespace {path}: {error.strerror}") from error


def _own() -> Netns:
    with step("look at the network namespace of this agent"):
        return netns.own()


def _same(namespace: Netns) -> bool:
    with step(f"look at the network namespace {namespace.path}"):
        return netns.same(namespace)


def _interfaces(namespace: Netns) -> Sequence[str]:
    with (
        step(f"list the interfaces in {namespace.path}"),
        netns.opened(namespace) as handle,
        Netlink.inside(handle) as inside,
    ):
        return [name for link in inside.links() for name in (link.name, *link.altnames)]


def _protected() -> frozenset[str]:
    with step("look for the uplinks of this node"):
        return uplinks.protected_links()
