"""Points in time, durations and zones, with the texts that Go reads and the wraps of its 64 bits."""

from __future__ import annotations

import pytest

from .celworld import verdict

NOON = 'timestamp("2024-01-01T12:00:00Z")'


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("0000000000000001:00", 13),
        ("-00:30", 11),
        ("+1:-30", 12),
        ("Local", 12),
        ("", 12),
        ("0:-9223372036854775808", 12),
        ("9223372036854775807:00", 11),
    ],
)
def test_offsets_are_any_64_bit_numbers(zone: str, hours: int) -> None:
    assert verdict(f'{NOON}.getHours("{zone}") == {hours}') is True


@pytest.mark.parametrize("zone", ["999999999:00", "-999999999:00", "153722867:00", "-153722867:00", "0:9223372036"])
def test_no_offset_leads_out_of_the_calendar(zone: str) -> None:
    for moment in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        for part in ("getFullYear", "getDayOfYear", "getDayOfWeek", "getSeconds"):
            assert verdict(f'timestamp("{moment}").{part}("{zone}") > -3000000') is True


@pytest.mark.parametrize(
    ("zone", "error"),
    [
        (":", 'parsing "": invalid syntax'),
        ("1:2:3", 'parsing "2:3": invalid syntax'),
        ("+:1", 'parsing "+": invalid syntax'),
        ("9223372036854775808:1", 'parsing "9223372036854775808": value out of range'),
    ],
)
def test_what_is_no_number_in_an_offset_is_named(zone: str, error: str) -> None:
    assert verdict(f'{NOON}.getHours("{zone}") == 0') == f"run: strconv.Atoi: {error}"


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0.3333333333333333333h", 1_200_000_000_000),
        ("0.9223372036854775808s", 922_337_203),
        ("0.00000000000000000000000000001h", 0),
        ("1.5ns", 1),
    ],
)
def test_fractions_count_as_many_digits_as_64_bits_hold(text: str, nanoseconds: int) -> None:
    # time.leadingFraction
    assert verdict(f'duration("{text}") == duration("{nanoseconds}ns")') is True
