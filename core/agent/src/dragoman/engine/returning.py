"""Devices on their way back from sandboxes that have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from loguru import logger

from dragoman.engine.attaching import Attaching
from dragoman.engine.parts import Parts
from dragoman.model.records import AttachmentKey, AttachmentRow
from dragoman_hookspecs import DragomanError

FIRST_DELAY, LAST_DELAY = 0.5, 10.0
"""Seconds between attempts: doubled from the first to the last."""


class Returning:
    """Brings each device back by a task that goes on until it is; ``back`` is then called with the UID of its claim."""

    def __init__(self, parts: Parts, attaching: Attaching, back: Callable[[str], None]) -> None:
        self._parts = parts
        self._attaching = attaching
        self._back = back
        self._tasks: dict[AttachmentKey, asyncio.Task[None]] = {}
        self._ending = False

    @property
    def tasks(self) -> Collection[asyncio.Task[None]]:
        """What is under way."""
        return self._tasks.values()

    def begin(self, attachment: AttachmentRow) -> asyncio.Task[None]:
        """Bring a device back. Its end may be told many times (stop, remove, a new connection): one task does it."""
        key = attachment.key
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._keep(attachment))
            self._tasks[key].add_done_callback(lambda _: self._tasks.pop(key))
        return self._tasks[key]

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Within the block no attempt follows one that has failed; those who wait for the next one end."""
        self._ending = True
        self._parts.ended.notify()
        try:
            yield
        finally:
            self._ending = False

    async def _keep(self, attachment: AttachmentRow) -> None:
        """Try until the device is back. Unprepare does the same and ends this."""
        delay, key = FIRST_DELAY, attachment.key.allocation
        while True:
            try:
                row = self._parts.ledger.allocation(key)
                async with self._parts.managers.together({row.manager} if row else ()):
                    await self._attaching.detach(attachment)
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody else brings the device back
                fault = None if isinstance(error, DragomanError) else error
                about = logger.bind(device=key.device).opt(exception=fault)
                about.error("device {} is not back on the host yet: {}", key.device, error)
            else:
                break
            if not self._ending:
                await self._parts.ended.wait(self._parts.clock, delay)
            if self._ending:
                return
            delay = min(delay * 2, LAST_DELAY)
        self._back(key.claim_uid)
