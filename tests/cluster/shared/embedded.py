"""The embedded API server in a thread, so that it is asked as the real one is."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

from dragoman_testkit.sandbox.apiserver import ApiServer
from tests.cluster.shared.wire import Wire

_OFF = {
    "DRAListTypeAttributes",
    "DRAOptionalNodeOperations",
    "DRAPartitionableDevicesType",
    "DRADeviceCompatibilityGroups",
    "DRANodeAllocatableResources",
}
"""The gates of this API that 1.37 has off by default."""


@contextlib.contextmanager
def embedded(bookmarks: float = 0.2) -> Iterator[Wire]:
    """Give an embedded API server; ``bookmarks`` are the seconds between them."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="apiserver")
    thread.start()
    server = ApiServer(bookmarks=bookmarks)
    server.faults.off = set(_OFF)

    def forget() -> None:
        loop.call_soon_threadsafe(server.compact)

    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(60)
        host = urlsplit(server.url)
        wire = Wire(
            lambda: http.client.HTTPConnection(host.hostname or "", host.port, timeout=60),
            forget=forget,
        )
        try:
            yield wire
        finally:
            wire.close()
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
