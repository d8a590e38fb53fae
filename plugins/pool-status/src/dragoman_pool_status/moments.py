"""Times of the API (RFC 3339, whole seconds, UTC) and seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime


def text_of(seconds: float) -> str:
    """Write a time as the API does."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(text: str | None) -> float | None:
    """Read a time, None where there is none or it cannot be read: then nothing expires by it."""
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None
