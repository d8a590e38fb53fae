"""Follows a collection over as many watches as it takes: where one ends, the next begins after what is there then."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Final, TypeAlias

import msgspec
from loguru import logger

from dragoman.clock import Clock
from dragoman.kube.client import KubeClient
from dragoman.kube.errors import ApiError, ServerUnavailable
from dragoman.kube.watch import WatchEvent
from dragoman_hookspecs import DragomanError

FIRST_PAUSE: Final = 1.0
"""Seconds before the next watch; doubled after each failure. A part of each pause is left out at random: the watches of
all nodes end at once where a server does."""
LONGEST_PAUSE: Final = 30.0
LONGEST_AWAY: Final = 5.0
"""Longest pause, in seconds, while no API server answers: whoever waits for its return waits for this."""

Position: TypeAlias = tuple[str, Mapping[str, str]]
"""Path and parameters of a watch."""


class Follower:
    """Watches from where ``position`` says, which lists what is there, and asks it again whenever the watch has ended.

    ``take`` gets the events, without bookmarks; ``ended`` is called after each watch or failure. ``what`` is for the
    log. ``silence``: seconds without a byte after which a watch is dead. ``final``: status codes of answers that end
    it.
    """

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        what: str,
        *,
        position: Callable[[], Awaitable[Position]],
        take: Callable[[WatchEvent], None],
        silence: float,
        ended: Callable[[], None] = lambda: None,
        final: Container[int] = (),
    ) -> None:
        self._client = client
        self._clock = clock
        self._what = what
        self._position = position
        self._take = take
        self._silence = silence
        self._ended = ended
        self._final = final
        self._pause = FIRST_PAUSE

    async def run(self) -> None:
        """Follow until cancelled. Raises ``ApiError`` with a status that is final."""
        while True:
            longest = LONGEST_PAUSE
            try:
                await self._watch(*await self._position())
                self._pause = FIRST_PAUSE
            except (DragomanError, msgspec.DecodeError) as error:
                self._bear(error)
                if isinstance(error, ServerUnavailable) and error.status is None:
                    longest = LONGEST_AWAY
            except Exception:  # noqa: BLE001 - with nobody who follows, slices that a kubelet wiped would stay away
                logger.exception("following {} failed; it begins again", self._what)
            self._ended()
            self._pause = min(self._pause, longest)
            await self._clock.sleep(self._pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load, guards nothing
            self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _bear(self, error: Exception) -> None:
        status = error.status if isinstance(error, ApiError) else None
        if status in self._final:
            raise error
        if status == 410:
            self._pause = FIRST_PAUSE  # the server is well, and forgets early
        logger.log("DEBUG" if status == 410 else "WARNING", "following {} broke off: {}", self._what, error)

    async def _watch(self, path: str, query: Mapping[str, str]) -> None:
        async with self._client.watch(path, query, silence=self._silence) as events:
            async for event in events:
                self._pause = FIRST_PAUSE
                if event.type != "BOOKMARK":
                    self._take(event)
