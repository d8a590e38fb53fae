"""The publisher: keeps the API server's slices equal to what this node advertises."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from loguru import logger

from dragoman.clock import Clock
from dragoman.engine.ports import SliceSink
from dragoman.engine.wakeup import Once, Wakeup
from dragoman.model.errors import Refused, Unavailable
from dragoman.model.publication import Publication
from dragoman.model.slice_attributes import has_lists
from dragoman.model.slices import PoolSpec


class Source(Protocol):
    """Gives what is to be published now; ``lists`` False leaves list attributes out."""

    def __call__(self, *, lists: bool) -> Publication:
        """Compute it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishTimes:
    """Seconds: from a change to its publication, and the first and the longest pause after a failure."""

    settle: float = 0.1
    first_pause: float = 1.0
    longest_pause: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishState:
    """How publishing stands, for readiness and the command line.

    ``published_at`` is when the server last took everything (seconds since the epoch), None before the first time.
    ``error`` is "" or why the newest pool is not (wholly) published. ``warnings`` are those that are true now.
    """

    published_at: float | None = None
    devices: int = 0
    slices: int = 0
    warnings: tuple[str, ...] = ()
    error: str = ""


class Publisher:
    """Publishes the latest pool, never a queue of them, and only what differs from the last one.

    ``first`` is awaited before anything is published (``NodeInventory.wait_first``): half an inventory would withdraw
    devices. Nothing is withdrawn when it stops: slices survive the agent.
    """

    def __init__(
        self,
        *,
        source: Source,
        sink: SliceSink,
        first: Callable[[], Awaitable[None]],
        clock: Clock,
        times: PublishTimes | None = None,
    ) -> None:
        self._source = source
        self._sink = sink
        self._first = first
        self._clock = clock
        self._times = times or PublishTimes()
        self._bell = Wakeup()
        self._hurry = Wakeup()
        self._lists = True
        self._settled: PoolSpec | None = None
        self._dropped: tuple[str, ...] = ()
        self._warn = Once(logger.warning)
        self.state = PublishState()

    def poke(self) -> None:
        """Say that something changed: the inventory, the ledger, the settings or the health."""
        self._bell.ring()

    def again(self) -> None:
        """Say that the server may hold something else than it took, or is back: ask it now although nothing changed."""
        self._settled = None
        self._lists = True
        self._bell.ring()
        self._hurry.ring()

    def fail(self, error: str) -> None:
        """Note and log why the newest pool is not published."""
        if error != self.state.error:
            logger.error("publishing failed: {}", error)
        self.state = replace(self.state, error=error)

    async def run(self) -> None:
        """Publish at first and after each change, until cancelled."""
        self._settled = None  # between two runs another agent may have published
        await self._first()
        while True:
            await self._bring_up_to_date()
            await self._bell.heard(self._clock)
            await self._clock.sleep(self._times.settle)

    async def _bring_up_to_date(self) -> None:
        pause = self._times.first_pause
        self._hurry.hush()
        while not await self._publish():
            await self._hurry.heard(self._clock, pause)
            pause = min(pause * 2, self._times.longest_pause)

    async def _publish(self) -> bool:
        """Publish what is true now; give False where another try may help."""
        wanted = self._source(lists=self._lists)
        if wanted.pool == self._settled:
            self._tell(wanted)
            return True
        # Until the server has answered, what it holds may be anything between the last pool and this one.
        self._settled = None
        try:
            wanted = await self._offer(wanted)
        except Unavailable as error:
            self._tell(wanted)
            self.fail(str(error))
            return False
        except Refused as error:
            self._tell(wanted)
            self.fail(f"the API server refused a slice, which is tried again after a change: {error}")
        else:
            self._succeed(wanted)
        self._settled = wanted.pool
        return True

    async def _offer(self, wanted: Publication) -> Publication:
        """Give what the server took."""
        try:
            self._dropped = tuple(await self._sink.publish(wanted.pool))
        except Refused:
            # A server with list attributes switched off drops the list and then refuses an attribute without value.
            # It does not say so beforehand. If it takes the pool without them, they are left out from now on.
            if not _has_lists(wanted.pool):
                raise
            wanted = self._source(lists=False)
            self._dropped = tuple(await self._sink.publish(wanted.pool))
            self._lists = False
        return wanted

    def _succeed(self, taken: Publication) -> None:
        devices = sum(len(spec.devices) for spec in taken.pool.slices)
        self.state = PublishState(published_at=self._clock.now(), devices=devices, slices=len(taken.pool.slices))
        self._tell(taken)
        logger.info("pool {} is published: {} devices", taken.pool.name, devices)

    def _tell(self, wanted: Publication) -> None:
        warnings = (*map(str, wanted.warnings), *self._dropped)
        self.state = replace(self.state, warnings=warnings)
        self._warn.tell(warnings)


def _has_lists(pool: PoolSpec) -> bool:
    return any(has_lists(device.attributes) for spec in pool.slices for device in spec.devices)
