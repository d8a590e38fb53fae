"""Times of the API."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman_allocator import times
from dragoman_allocator.errors import InvalidInput


@pytest.mark.parametrize("text", ["2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00", "2026-01-31T12:00:00.000000Z"])
def test_a_time_is_read_in_any_zone_and_precision(text: str) -> None:
    assert times.parse(text) == datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "now", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", "0" * 10**5])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        times.parse(text)
    assert len(str(refused.value)) < 200
