"""Time: what every room may ask of it, and time as it passes. Tests give a virtual one."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Time."""

    def now(self) -> float:
        """Give seconds since the epoch."""

    def monotonic(self) -> float:
        """Give seconds of a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """Satisfies ``Clock``."""

    def now(self) -> float:
        """Give seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Give seconds of a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
