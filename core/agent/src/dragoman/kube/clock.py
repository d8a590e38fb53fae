"""What the edge needs of time; the engine's clock satisfies it."""

from __future__ import annotations

import datetime as dt
from typing import Protocol


class Clock(Protocol):
    """Time. Tests give a virtual one."""

    def now(self) -> float:
        """Give seconds since the epoch."""

    def monotonic(self) -> float:
        """Give seconds of a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


def timestamp(clock: Clock) -> str:
    """Give the present time as the API writes it: RFC 3339, UTC, whole seconds."""
    return dt.datetime.fromtimestamp(int(clock.now()), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
