"""Waiting for a state that somebody else reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 200.0
"""Seconds until what is awaited will not happen any more. A kubelet that could not do something looks again with its
next sync only, which takes it up to a minute and a half, and then has all of it to do; and the machine may be slow."""
PAUSE = 0.1
"""Seconds between looks: what is awaited takes longer, and two cores have better things to do."""


class NotReached(AssertionError):
    """What was waited for did not happen in time."""


def until(look: Callable[[], T | None], what: str, limit: float = PATIENCE) -> T:
    """Look until there is something to see (a true value), and give it. Raises ``NotReached``.

    A server that cannot be reached shows nothing yet.
    """
    end = time.monotonic() + limit
    while True:
        why = ""
        try:
            if seen := look():
                return seen
        except OSError as error:
            why = f" ({error})"
        if time.monotonic() > end:
            raise NotReached(f"not within {limit:g} s: {what}{why}")
        time.sleep(PAUSE)
