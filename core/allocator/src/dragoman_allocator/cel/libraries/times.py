"""Parts of points in time and of durations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import trunc
from typing import Final

from dragoman_allocator.cel.functions import Overload, method
from dragoman_allocator.cel.temporal import Civil, local
from dragoman_allocator.cel.values import Duration, Timestamp

_PARTS: Final[tuple[tuple[str, str, Callable[[Civil], int]], ...]] = (
    ("getFullYear", "timestamp_to_year", lambda t: t.year),
    ("getMonth", "timestamp_to_month", lambda t: t.moment.month - 1),
    ("getDayOfYear", "timestamp_to_day_of_year", lambda t: t.moment.timetuple().tm_yday - 1),
    ("getDayOfMonth", "timestamp_to_day_of_month", lambda t: t.moment.day - 1),
    ("getDate", "timestamp_to_day_of_month_1_based", lambda t: t.moment.day),
    ("getDayOfWeek", "timestamp_to_day_of_week", lambda t: t.moment.isoweekday() % 7),
    ("getHours", "timestamp_to_hours", lambda t: t.moment.hour),
    ("getMinutes", "timestamp_to_minutes", lambda t: t.moment.minute),
    ("getSeconds", "timestamp_to_seconds", lambda t: t.moment.second),
)


def _part(read: Callable[[Civil], int]) -> Callable[..., int]:
    def run(value: Timestamp, zone: str = "UTC") -> int:
        return read(local(value, zone))

    return run


def _milliseconds(value: Timestamp, zone: str = "UTC") -> int:
    local(value, zone)
    return int(value) % 10**9 // 10**6


def _of_time() -> Iterator[Overload]:
    for name, id_, read in _PARTS:
        yield method(name, "timestamp -> int", id_, _part(read))
        yield method(name, "timestamp, string -> int", f"{id_}_with_tz", _part(read))
    yield method("getMilliseconds", "timestamp -> int", "timestamp_to_milliseconds", _milliseconds)
    yield method("getMilliseconds", "timestamp, string -> int", "timestamp_to_milliseconds_with_tz", _milliseconds)


def _units(unit: int) -> Callable[[Duration], int]:
    def run(value: Duration) -> int:
        count = abs(int(value)) // unit
        return -count if value < 0 else count

    return run


def _float_units(unit: int) -> Callable[[Duration], int]:
    """Count units as Go does, by way of a double."""

    def run(value: Duration) -> int:
        whole = abs(int(value)) // unit
        count = trunc(float(whole) + (abs(int(value)) % unit) / unit)
        return -count if value < 0 else count

    return run


OVERLOADS: Final = (
    *_of_time(),
    method("getHours", "duration -> int", "duration_to_hours", _float_units(3600 * 10**9)),
    method("getMinutes", "duration -> int", "duration_to_minutes", _float_units(60 * 10**9)),
    method("getSeconds", "duration -> int", "duration_to_seconds", _float_units(10**9)),
    method("getMilliseconds", "duration -> int", "duration_to_milliseconds", _units(10**6)),
)
