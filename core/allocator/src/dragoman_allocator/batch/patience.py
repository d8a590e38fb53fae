"""When a search has gone on for too long: the library itself has no clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SECONDS: Final = 8.5
"""The scheduler gives a node 10 s (DRASchedulerFilterTimeout); the rest is for saying why."""


def until(seconds: float) -> Callable[[], bool]:
    """Give what tells whether so many seconds have passed since now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
