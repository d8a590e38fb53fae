"""Which version of resource.k8s.io the server speaks, asked once and again when it stops being served."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError, ServerUnavailable

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


@dataclass(frozen=True, slots=True)
class Api:
    """One discovered state. ``epoch`` counts discoveries: what was learnt about gates holds for one epoch."""

    version: str
    server: tuple[int, int]
    epoch: int

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
        self._lock = asyncio.Lock()

    async def api(self) -> Api:
        """Give the discovered state. Raises ``Unavailable``, also where the server has no dynamic resources."""
        if self._api is None:
            await self._discover(None)
        assert self._api is not None
        return self._api

    async def call(self, send: Callable[[Api], Awaitable[T]]) -> T:
        """Send a request; when its path is not served any more, discover and send it once more."""
        api = await self.api()
        try:
            return await send(api)
        except ApiError as error:
            if not error.not_served:
                raise
        await self._discover(api)
        return await send(await self.api())

    async def _discover(self, known: Api | None) -> None:
        async with self._lock:
            if self._api is not known:
                return
            served = await self._served()
            version = next((v for v in PREFERENCE if v in served), None)
            if version is None:
                names = ", ".join(sorted(served)) or "no version"
                raise ServerUnavailable(
                    f"the API server offers {names} of {GROUP}; {' or '.join(PREFERENCE)} is needed"
                )
            epoch = 1 if known is None else known.epoch + 1
            self._api = Api(version, await self._server() or _RELEASES[version], epoch)

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

    async def _server(self) -> tuple[int, int] | None:
        try:
            server = decode("/version", await self._client.get("/version"), _Server)
        except ApiError:
            return None
        # Distributions write "34+".
        major, minor = (int(re.sub(r"\D", "", text) or 0) for text in (server.major, server.minor))
        return major, minor
