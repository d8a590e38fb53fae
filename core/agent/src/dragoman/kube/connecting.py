"""A connection to the API server for a program that does not run on an event loop itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.clock import SystemClock
from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient
from dragoman.kube.cluster import KubeCluster


@contextmanager
def connected(access: Access, *, manager: str) -> Iterator[KubeCluster]:
    """Give a cluster whose client works on a loop in a thread of its own. Raises ``Refused`` without access.

    Requests, too, are bounded by the patience of the access, and told of.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="kube-loop", daemon=True)
    thread.start()
    try:
        client = KubeClient(access, timeout=access.patience.limit)
        connecting = asyncio.run_coroutine_threadsafe(client.connect(), loop)
        try:
            connecting.result()
            yield KubeCluster(client, SystemClock(), loop, manager=manager, patience=access.patience)
        finally:
            connecting.cancel()
            asyncio.run_coroutine_threadsafe(client.aclose(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
