"""Patience with an API server that cannot answer now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from typing import TypeVar

from dragoman.clock import Clock
from dragoman.kube.errors import ApiError, ServerUnavailable

T = TypeVar("T")

_DELAYS = (0.2, 0.5, 1.0)
_PATIENCE = 5.0


async def patiently(clock: Clock, send: Callable[[], Awaitable[T]], refusals: Container[int] = ()) -> T:
    """Send again after 0.2, 0.5 and 1 s, or when the server says, while it is unavailable; for 5 s at most.

    ``refusals`` are status codes of ``ApiError`` that may pass as well. Raises the last error.
    """
    end = clock.monotonic() + _PATIENCE
    for delay in _DELAYS:
        try:
            return await send()
        except ServerUnavailable as error:
            wait = max(delay, error.retry_after or 0)
            if clock.monotonic() + wait > end:
                raise
        except ApiError as error:
            if error.status not in refusals:
                raise
            wait = delay
        await clock.sleep(wait)
    return await send()
