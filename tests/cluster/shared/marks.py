"""When bookmarks come: a watch of nothing, followed in a thread while other tests run."""

from __future__ import annotations

import contextlib
import http.client
import queue
import threading
import time
from dataclasses import dataclass

from tests.cluster.shared.wire import SLICES, Wire

_PATIENCE = 120.0
_NOBODY = {"fieldSelector": "spec.driver=nobody.example.com"}


@dataclass(frozen=True, slots=True)
class Mark:
    """A bookmark: seconds since the watch began, the kind of its object, and its version."""

    after: float
    kind: str
    version: int


class Marks:
    """Bookmarks of the server. ``begun`` is the version from which on is watched."""

    def __init__(self, server: Wire) -> None:
        self.begun = int(server.ask("GET", SLICES, **_NOBODY).metadata["resourceVersion"])
        self._server = server
        self._seen: queue.Queue[Mark] = queue.Queue()
        self._start = time.monotonic()
        threading.Thread(target=self._follow, name="marks", daemon=True).start()

    def first(self) -> Mark:
        """Give the first bookmark, once it has come. Raises ``queue.Empty``."""
        return self._seen.get(timeout=_PATIENCE)

    def _follow(self) -> None:
        query = {**_NOBODY, "resourceVersion": str(self.begun), "allowWatchBookmarks": "true"}
        # The server, or the node with it, may end before the watch does.
        ended = (OSError, ValueError, http.client.HTTPException)
        with contextlib.suppress(*ended), self._server.watch(SLICES, _PATIENCE, **query) as events:
            for kind, obj in events:
                if kind == "BOOKMARK":
                    version = int(obj["metadata"]["resourceVersion"])
                    self._seen.put(Mark(time.monotonic() - self._start, obj["kind"], version))
