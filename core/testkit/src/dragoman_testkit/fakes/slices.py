"""An API server's slices of one node, in memory. Needs the agent (extra ``sandbox``)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dragoman.model.slices import PoolSpec
from dragoman_hookspecs import Device


class MemorySlices:
    """Satisfies the engine's ``SliceSink``.

    ``pools`` holds every pool that was accepted, in order. ``warnings`` is what ``publish`` answers. ``errors`` are
    raised one by one by the next calls, before anything is stored. While ``gate`` is not set, calls wait.
    """

    def __init__(self) -> None:
        self.pools: list[PoolSpec] = []
        self.attempts = 0
        self.warnings: tuple[str, ...] = ()
        self.errors: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def publish(self, pool: PoolSpec) -> Sequence[str]:
        """Take the pool, or raise the next of ``errors``."""
        self.attempts += 1
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        self.pools.append(pool)
        return self.warnings

    def devices(self) -> dict[str, Device]:
        """Give the devices of the pool that was accepted last, by name."""
        if not self.pools:
            return {}
        return {device.name: device for spec in self.pools[-1].slices for device in spec.devices}
