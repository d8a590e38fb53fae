"""Times as ``metav1.Time`` reads them, with the texts of Go's ``time.Parse``."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, Self

_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_PARTS: Final = (
    (r"\d{4}", "2006"), ("-", "-"), (r"\d{2}", "01"), ("-", "-"), (r"\d{2}", "02"), ("T", "T"), (r"\d{2}", "15"),
    (":", ":"), (r"\d{2}", "04"), (":", ":"), (r"\d{2}(?:[.,]\d+)?", "05"), (r"Z|[+-]\d{2}:\d{2}", "Z07:00"),
)  # fmt: skip

_CYCLE: Final = 400
"""Years after which the calendar repeats; year 0, which Python does not have, is like year 400."""
_CYCLE_SECONDS: Final = 146_097 * 86_400


class Instant(int):
    """Nanoseconds since 1970; false for the zero time, which is the year 1."""

    ZERO: Final = -62135596800 * 10**9

    def __bool__(self) -> bool:
        return int(self) != Instant.ZERO

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read RFC 3339. Raises ``ValueError`` with Go's text."""
        values, rest = [], text
        for pattern, name in _PARTS:
            found = re.match(pattern, rest, re.ASCII)
            if found is None:
                raise ValueError(f'parsing time "{text}" as "{_LAYOUT}": cannot parse "{rest}" as "{name}"')
            values.append(found[0])
            rest = rest[found.end() :]
        if rest:
            raise ValueError(f'parsing time "{text}": extra text: "{rest}"')
        return cls(_nanoseconds(text, values))


def _nanoseconds(text: str, values: list[str]) -> int:
    year, month, day, hour, minute = (int(values[index]) for index in (0, 2, 4, 6, 8))
    second, _, fraction = values[10].replace(",", ".").partition(".")
    for name, number, limit in (("hour", hour, 23), ("minute", minute, 59), ("second", int(second), 59)):
        if number > limit:
            raise ValueError(f'parsing time "{text}": {name} out of range')
    if not 1 <= month <= 12:
        raise ValueError(f'parsing time "{text}": month out of range')
    try:
        at = datetime(year or _CYCLE, month, day, hour, minute, int(second), tzinfo=UTC)
    except ValueError:
        raise ValueError(f'parsing time "{text}": day out of range') from None
    whole = int((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    if year == 0:
        whole -= _CYCLE_SECONDS
    return (whole - _offset(values[11])) * 10**9 + int(fraction[:9].ljust(9, "0"))


def _offset(zone: str) -> int:
    if zone == "Z":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    return -seconds if zone[0] == "-" else seconds
