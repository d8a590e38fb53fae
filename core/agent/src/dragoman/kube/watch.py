"""A watch: a blocking stream in a daemon thread, given to asyncio event by event."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Self

import msgspec
from urllib3.exceptions import HTTPError

from dragoman.kube.errors import ServerUnavailable, event_failure
from dragoman.kube.reading import read
from dragoman_hookspecs import DragomanError

PERIOD = (300, 600)
"""A watch is ended by the server after so many seconds, and the list that follows repairs what was ever missed."""


def watch_query(version: str) -> dict[str, str]:
    """Give the parameters of a watch that begins after this version of a list."""
    return {
        "watch": "true",
        "resourceVersion": version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(random.randint(*PERIOD)),  # noqa: S311 - spreads load, guards nothing
    }


class WatchEvent(msgspec.Struct, frozen=True):
    """One event; ``type`` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: msgspec.Raw


class WatchStream:
    """Events of one watch request. Iterating raises ``ApiError`` (410 among them) or ``ServerUnavailable``.

    A clean end by the server ends the iteration. ``stop`` wakes the thread at once, also out of a silent connection.
    """

    def __init__(self, what: str, connect: Callable[[], Any], running: set[WatchStream]) -> None:
        self._what = what
        self._connect = connect
        self._running = running
        self._items: asyncio.Queue[WatchEvent | DragomanError | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._response: Any = None
        self._stopped = False

    async def __aenter__(self) -> Self:
        self._running.add(self)
        threading.Thread(target=self._follow, name="kube-watch", daemon=True).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aiter__(self) -> AsyncIterator[WatchEvent]:
        while (item := await self._items.get()) is not None:
            if isinstance(item, DragomanError):
                raise item
            yield item

    def stop(self) -> None:
        """End the watch; the thread closes the connection."""
        self._running.discard(self)
        with self._lock:
            if self._response is not None and not self._stopped:
                # The stream may have ended by itself; then there is nothing to wake.
                with contextlib.suppress(Exception):
                    self._response.shutdown()
            self._stopped = True
        self._give(None)

    def _follow(self) -> None:
        # Whatever ends this thread, nobody may wait for it any more.
        end: DragomanError | None = ServerUnavailable(f"{self._what}: the stream broke")
        try:
            for event in self._events():
                self._give(event)
            end = None
        except DragomanError as error:
            end = error
        except (HTTPError, OSError, msgspec.DecodeError) as error:
            end = ServerUnavailable(f"{self._what}: the stream broke: {error}")
        finally:
            self._give(end)

    def _events(self) -> Iterator[WatchEvent]:
        response = self._connect()
        try:
            with self._lock:
                self._response = response
                stopped = self._stopped
            for line in () if stopped else _lines(response):
                event = read(line, WatchEvent)
                if event.type == "ERROR":
                    raise event_failure(self._what, bytes(event.object))
                yield event
        finally:
            with self._lock:
                self._stopped = True
                # Not released to the pool: the stream may be unread, and another request must not wait behind it.
                response.close()

    def _give(self, item: WatchEvent | DragomanError | None) -> None:
        # After the loop has ended nobody waits any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)


def _lines(response: Any) -> Iterator[bytes]:
    rest = b""
    while chunk := response.read1(1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line for line in lines if line.strip())
