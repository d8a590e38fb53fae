"""Time as the API writes it."""

from __future__ import annotations

import datetime as dt

from dragoman.clock import Clock


def timestamp(clock: Clock) -> str:
    """Give the present time as the API writes it: RFC 3339, UTC, whole seconds."""
    return dt.datetime.fromtimestamp(int(clock.now()), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
