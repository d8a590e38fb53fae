"""Times as the API writes them (RFC 3339)."""

from __future__ import annotations

from datetime import datetime

from dragoman_allocator.errors import InvalidInput


def parse(text: str) -> datetime:
    """Read a time. Raises ``InvalidInput``."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or "T" not in text:
        raise InvalidInput(f"{text[:100]!r} is not a time such as 2026-01-31T12:00:00Z")
    return moment
