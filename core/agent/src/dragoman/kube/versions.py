"""What the server is and which version of resource.k8s.io it speaks: asked once, and again when that may be another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError, ServerUnavailable
from dragoman.model.errors import Unavailable

GROUP = "resource.k8s.io"
PREFERENCE = ("v1", "v1beta2", "v1beta1")
_RELEASES = {"v1": (1, 34), "v1beta2": (1, 33), "v1beta1": (1, 32)}
"""First release with each version, for servers that do not tell theirs."""

T = TypeVar("T")


class _GroupVersion(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct):
    versions: list[_GroupVersion] | None = None


class _Server(msgspec.Struct):
    major: str = ""
    minor: str = ""
    git_version: str = msgspec.field(default="", name="gitVersion")


@dataclass(frozen=True, slots=True)
class Api:
    """One discovered state. ``server``: major and minor; ``release``: its whole name, "" where it tells none.

    ``epoch`` counts the servers met, of which one that was away is another: what was learnt about gates holds for one.
    """

    version: str
    server: tuple[int, int]
    epoch: int
    release: str = ""

    @property
    def root(self) -> str:
        """Path of the group's version."""
        return f"/apis/{GROUP}/{self.version}"

    @property
    def api_version(self) -> str:
        """``apiVersion`` of the objects."""
        return f"{GROUP}/{self.version}"


class Versions:
    """Discovers lazily; one discovery at a time."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._api: Api | None = None
        self._away = False
        self._lock = asyncio.Lock()
        self._listeners: list[Callable[[Api], None]] = []

    def on_other(self, callback: Callable[[Api], None]) -> None:
        """Have ``callback(api)`` called when a server of another release was met, or ``renew`` one that was away."""
        self._listeners.append(callback)

    async def api(self) -> Api:
        """Give the discovered state. Raises ``Unavailable``, also where the server has no dynamic resources."""
        return self._api or await self._discover(None)

    async def renew(self) -> Api:
        """Ask again: call it after a time in which the server may have become another. Raises as ``api``."""
        async with self._lock:
            try:
                return await self._ask()
            except Unavailable:
                self._away = True
                raise

    async def call(self, send: Callable[[Api], Awaitable[T]]) -> T:
        """Send a request; when its path is not served any more, discover and send it once more."""
        api = await self.api()
        try:
            return await send(api)
        except ApiError as error:
            if not error.not_served:
                raise
        return await send(await self._discover(api))

    async def _discover(self, known: Api | None) -> Api:
        async with self._lock:
            if self._api is None or self._api == known:
                return await self._ask()
            return self._api

    async def _ask(self) -> Api:
        served, former = await self._served(), self._api
        version = next((v for v in PREFERENCE if v in served), None)
        if version is None:
            names = ", ".join(sorted(served)) or "no version"
            raise ServerUnavailable(f"the API server offers {names} of {GROUP}; {' or '.join(PREFERENCE)} is needed")
        number, release = await self._server()
        if former is not None and not self._away and (version, release) == (former.version, former.release):
            return former
        is_first = former is None and not self._away
        self._away = False
        self._api = api = Api(version, number or _RELEASES[version], former.epoch + 1 if former else 1, release)
        for callback in () if is_first else self._listeners:
            callback(api)
        return api

    async def _served(self) -> set[str]:
        path = f"/apis/{GROUP}"
        try:
            group = decode(path, await self._client.get(path), _Group)
        except ApiError as error:
            if error.status != 404:
                raise ServerUnavailable(
                    f"the versions of {GROUP} cannot be read: {error}", status=error.status
                ) from error
            return set()
        return {entry.version for entry in group.versions or ()}

    async def _server(self) -> tuple[tuple[int, int] | None, str]:
        try:
            server = decode("/version", await self._client.get("/version"), _Server)
        except ApiError:
            return None, ""
        # Distributions write "34+".
        major, minor = (int(re.sub(r"\D", "", text) or 0) for text in (server.major, server.minor))
        return (major, minor), server.git_version
