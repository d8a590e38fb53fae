"""Follows the slices of this node and driver: watch, and list again when the watch has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from loguru import logger

from dragoman.clock import Clock
from dragoman.kube.client import KubeClient
from dragoman.kube.errors import ApiError
from dragoman.kube.slice_cache import SliceCache, SliceObject
from dragoman.kube.slice_writer import collection
from dragoman.kube.versions import Api
from dragoman.kube.watch import WatchEvent, watch_query
from dragoman_hookspecs import DragomanError

_PAUSES = (1.0, 30.0)
"""First and longest pause, in seconds, before the next list."""


class SliceFollower:
    """Feeds the cache. ``position`` lists where that is due and gives where to watch from; ``lost`` asks for a list."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        cache: SliceCache,
        *,
        selector: str,
        silence: float,
        position: Callable[[], Awaitable[tuple[Api, str]]],
        lost: Callable[[], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._cache = cache
        self._selector = selector
        self._silence = silence
        self._position = position
        self._lost = lost
        self._task: asyncio.Task[None] | None = None
        self._pause = _PAUSES[0]

    def start(self) -> None:
        """Follow until ``stop``; once is enough."""
        if self._task is None:
            self._task = asyncio.create_task(self._follow())

    def stop(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _follow(self) -> None:
        while True:
            try:
                await self._watch(*await self._position())
                self._pause = _PAUSES[0]
            except (DragomanError, msgspec.DecodeError) as error:
                expired = isinstance(error, ApiError) and error.status == 410
                if expired:
                    self._pause = _PAUSES[0]  # the server is well, and forgets early
                logger.log("DEBUG" if expired else "WARNING", "the watch of this node's slices ended: {}", error)
            except Exception:  # noqa: BLE001 - with nobody who follows, slices that a kubelet wiped would stay away
                logger.exception("following this node's slices failed; it begins again")
            self._lost()
            await self._clock.sleep(self._pause)
            self._pause = min(self._pause * 2, _PAUSES[1])

    async def _watch(self, api: Api, version: str) -> None:
        query = watch_query(version) | {"fieldSelector": self._selector}
        async with self._client.watch(collection(api), query, silence=self._silence) as events:
            async for event in events:
                self._pause = _PAUSES[0]
                self._take(event)

    def _take(self, event: WatchEvent) -> None:
        if event.type == "BOOKMARK":
            return
        self._cache.see(event.type, msgspec.json.decode(event.object, type=SliceObject).stored())
