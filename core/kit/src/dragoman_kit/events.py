"""Changes of links, as hints that a scan is due."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dragoman_kit.rtnl import Rtnl

_RTMGRP_LINK = 0x1
_WAKE_SECONDS = 0.25
"""How often ``stopped`` is looked at: a hook has a second to return."""


def watch_links(
    changed: Callable[[], None], stopped: threading.Event, *, quiet: float = 0.1, longest: float = 1.0
) -> None:
    """Call ``changed()`` after links of the calling thread's namespace changed, until ``stopped`` is set.

    A burst becomes one call: after ``quiet`` seconds without a change, or ``longest`` seconds after the first one.
    Changes that the kernel could not deliver count as changes. Raises ``OSError`` when the socket fails.
    """
    with Rtnl(_RTMGRP_LINK) as socket:
        while not stopped.is_set():
            if not socket.readable(_WAKE_SECONDS):
                continue
            deadline = time.monotonic() + longest
            socket.drain()
            # Asleep rather than reading each one: whoever makes the changes, a move into a pod, may be this process.
            while time.monotonic() < deadline and not stopped.wait(quiet) and socket.readable(0):
                socket.drain()
            changed()
