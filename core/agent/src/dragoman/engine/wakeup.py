"""A bell for one listener, and messages that are said once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from dragoman.clock import Clock
from dragoman.engine.waiting import finished


class Wakeup:
    """A bell that rings until it is heard: nothing is lost that happens while the listener is busy."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake the listener, now or when it listens next."""
        self._event.set()

    def hush(self) -> None:
        """Forget what rang so far."""
        self._event.clear()

    async def heard(self, clock: Clock, seconds: float | None = None) -> bool:
        """Wait until it rings, at most so long; give False where it did not."""
        waiter = asyncio.ensure_future(self._event.wait())
        try:
            await (waiter if seconds is None else finished(clock, seconds, waiter))
        finally:
            waiter.cancel()
        rang = self._event.is_set()
        self._event.clear()
        return rang


class Once:
    """Says each message when it appears, and again only after it was gone."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: frozenset[str] = frozenset()

    def tell(self, messages: Iterable[str]) -> None:
        """Take all messages that are true now."""
        current = list(messages)
        for message in dict.fromkeys(current):
            if message not in self._said:
                self._say(message)
        self._said = frozenset(current)
