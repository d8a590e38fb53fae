"""Keeps the slices of this node and driver equal to what is wanted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

from loguru import logger

from dragoman.clock import Clock
from dragoman.kube.alarm import Alarm
from dragoman.kube.client import KubeClient
from dragoman.kube.follow import Follower, Position
from dragoman.kube.reading import read
from dragoman.kube.slice_cache import SliceCache, SliceObject
from dragoman.kube.slice_content import WantedSlices
from dragoman.kube.slice_sync import SliceSync
from dragoman.kube.slice_writer import SliceWriter, collection
from dragoman.kube.versions import Versions
from dragoman.kube.watch import WatchEvent, watch_query
from dragoman.model.errors import Refused, Unavailable
from dragoman.model.slices import PoolSpec

_FOREIGN_CHANGE = 30.0
"""Seconds before a change by another hand is put right; so long the Go helper waits too."""
_PAUSES = (1.0, 60.0)
"""First and longest pause, in seconds, after a failed write."""


def _soon() -> float:
    """Seconds before a deleted slice is made again: the kubelets of many nodes may have wiped theirs at once."""
    return random.uniform(0.2, 1.2)  # noqa: S311 - spreads load, guards nothing


class SlicePublisher:
    """Satisfies the engine's ``SliceSink``.

    ``soon`` gives the delay, in seconds, before a slice that was deleted by another hand is made again.
    ``silence`` is how long the watch may stay without a byte before it is taken for dead; servers send bookmarks about
    every minute.
    """

    def __init__(
        self,
        client: KubeClient,
        versions: Versions,
        clock: Clock,
        *,
        driver: str,
        node: str,
        soon: Callable[[], float] = _soon,
        silence: float = 90.0,
    ) -> None:
        self._soon = soon
        self._lock = asyncio.Lock()
        self._wanted: WantedSlices | None = None
        self._pause = _PAUSES[0]
        self._told: tuple[Sequence[str], Sequence[str]] | None = None
        self._listeners: list[Callable[[], None]] = []
        self._versions = versions
        self._writer = SliceWriter(client, driver=driver, node=node)
        self._sync = SliceSync(self._writer, versions, SliceCache(self._changed), driver=driver, node=node)
        self._alarm = Alarm(clock, self._repair)
        self._follower = Follower(
            client,
            clock,
            "the slices of this node",
            position=self._position,
            take=self._take,
            silence=silence,
            ended=self._sync.lost,
        )
        self._following: asyncio.Task[None] | None = None

    async def publish(self, pool: PoolSpec) -> Sequence[str]:
        """Write what differs, and keep it so until the next call.

        A slice that the server refuses with 422 keeps its last accepted content, as far as its devices are still
        wanted, or is left out, so that the pool is complete without it; it is tried again when the pool changes, or
        another server is met. Returns warnings by device and field. Raises ``Unavailable`` (it goes on trying), also
        without the rights, or ``Refused``.
        """
        async with self._lock:
            if self._wanted is None or self._wanted.pool != pool:
                self._wanted = WantedSlices(pool, self._wanted)
            if self._following is None:
                self._following = asyncio.create_task(self._follower.run())
            self._told = None
            await self._make_equal(self._wanted)
            self._told = refusals, warnings = self._wanted.refusals(), self._wanted.warnings()
            if refusals:
                raise Refused("; ".join(refusals))
            return warnings

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have ``callback()`` called when ``publish`` would tell something else than it did: ask it again."""
        self._listeners.append(callback)

    async def withdraw(self) -> None:
        """Delete every slice of this node and driver, and stop publishing. Raises ``Unavailable``."""
        await self.pause()
        async with self._lock:
            self._wanted = None
            await self._sync.delete_all()

    async def pause(self) -> None:
        """Stop following, until ``publish``: another agent may write the slices. They stay as they are."""
        if self._following is not None:
            self._following.cancel()
            self._following = None
        self._alarm.stop()
        self._sync.lost()

    async def aclose(self) -> None:
        """Stop following for good; the slices stay as they are."""
        await self.pause()

    async def _make_equal(self, wanted: WantedSlices) -> None:
        try:
            await self._sync.make_equal(wanted)
        except Unavailable:
            self._alarm.ring_in(self._pause)
            self._pause = min(self._pause * 2, _PAUSES[1])
            raise
        self._pause = _PAUSES[0]

    async def _repair(self) -> None:
        async with self._lock:
            if self._wanted is None:
                return
            try:
                await self._put_right(self._wanted)
            except Unavailable as error:
                logger.warning("the slices of this node are not as wanted: {}", error)

    async def _put_right(self, wanted: WantedSlices) -> None:
        await self._make_equal(wanted)
        if self._told != (now := (wanted.refusals(), wanted.warnings())):
            self._told = now
            for callback in self._listeners:
                callback()

    async def _position(self) -> Position:
        async with self._lock:
            if self._sync.position is None and self._wanted is not None:
                await self._versions.renew()
                await self._put_right(self._wanted)
            if self._sync.position is None:
                raise Unavailable("nothing is published yet")
            api, version = self._sync.position
        return collection(api), watch_query(version) | {"fieldSelector": self._writer.selector}

    def _take(self, event: WatchEvent) -> None:
        self._sync.cache.see(event.type, read(event.object, SliceObject).stored())

    def _changed(self, deleted: bool) -> None:
        if deleted:
            # The Node may have been registered anew, and its old UID would have the garbage collector delete again.
            self._writer.forget_owner()
        self._alarm.ring_in(self._soon() if deleted else _FOREIGN_CHANGE)
