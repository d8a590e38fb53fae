"""Lengths of time."""

from __future__ import annotations

import pytest

from dragoman_kit.durations import seconds


@pytest.mark.parametrize(
    ("text", "length"), [("30", 30), ("30s", 30), ("500ms", 0.5), ("1m30s", 90), ("1.5m", 90), ("24h", 86400)]
)
def test_lengths_of_time_are_read_as_kubectl_does(text: str, length: float) -> None:
    assert seconds(text) == pytest.approx(length)


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "1.5", "5 s", "s", "5d", "٣", "25h", "9" * 400, "1s1"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no length of time between 0 and a day"):
        seconds(text)
