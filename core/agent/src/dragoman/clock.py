"""Time as it passes."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Satisfies the ``Clock`` of every room."""

    def now(self) -> float:
        """Give seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Give seconds of a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
