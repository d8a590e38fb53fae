"""Texts of durations and points in time, as Go reads and writes them."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from math import trunc
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dragoman_allocator import amounts
from dragoman_allocator.cel import work
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.operators import bounded
from dragoman_allocator.cel.values import Duration, Timestamp

_SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART: Final = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?(ns|us|µs|μs|ms|s|m|h)(?![a-zµμ])")
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH: Final = date(1970, 1, 1).toordinal()
_LIMIT: Final = 2**63
_NUMBER: Final = re.compile("[+-]?[0-9]+")
_LOOKING_UP: Final = 128
"""What a zone counts for, since one that is not known is looked for in files every time."""
_CYCLE: Final = 146_097 * 86_400
"""Seconds of 400 years, after which the calendar repeats itself."""
_SAFE: Final = 60_000_000_000
"""Seconds from 1970 within which no zone leaves the years that ``datetime`` knows."""


def _no_duration() -> EvaluationError:
    return EvaluationError("type conversion error from 'string' to 'google.protobuf.Duration'")


def parse_duration(text: str) -> Duration:
    """Read a duration such as ``1h30m`` or ``-1.5s``. Raises ``EvaluationError``."""
    negative = text[:1] == "-"
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    while at < len(rest):
        work.elements(1)
        match = _PART.match(rest, at)
        if match is None or not (match[1] or match[3]):
            raise _no_duration()
        total += _nanoseconds(match[1], match[3] or "", _UNITS[match[4]])
        if total > _LIMIT:
            raise _no_duration()
        at = match.end()
    if not rest or (total == _LIMIT and not negative):
        raise _no_duration()
    return Duration(-total if negative else total)


def _nanoseconds(whole: str, part: str, unit: int) -> int:
    if len(whole.lstrip("0")) > 19:
        raise _no_duration()
    return int(whole or "0") * unit + _part_of_unit(part, unit)


def _part_of_unit(digits: str, unit: int) -> int:
    """Give the fraction of a unit as Go calculates it: in doubles, from as many digits as 64 bits hold."""
    value, scale = 0, 1.0
    work.characters(len(digits))
    for digit in digits:
        longer = value * 10 + int(digit)
        if value > (_LIMIT - 1) // 10 or longer > _LIMIT:
            break
        value, scale = longer, scale * 10
    return int(value * (unit / scale))


def text_of_duration(value: Duration) -> str:
    """Print a duration in seconds."""
    whole = abs(int(value)) // _SECOND
    seconds = float(whole) + (abs(int(value)) % _SECOND) / 1e9
    text = f"{Decimal(repr(seconds)):f}"
    return ("-" if value < 0 else "") + text.removesuffix(".0") + "s"


def parse_timestamp(text: str) -> Timestamp:
    """Read a point in time of RFC 3339. Raises ``EvaluationError``."""
    match = _TIME.fullmatch(text)
    if match is None or not _valid(match):
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    year, month, day, hour, minute, second = (int(match[n]) for n in range(1, 7))
    if year == 0:
        raise EvaluationError("timestamp overflow")
    offset = (int(match[9]) * 3600 + int(match[10]) * 60) * (-1 if match[8] == "-" else 1) if match[8] else 0
    seconds = (date(year, month, day).toordinal() - _EPOCH) * 86400 + hour * 3600 + minute * 60 + second - offset
    found: Timestamp = bounded(Timestamp, seconds * _SECOND + int((match[7] or "0")[:9].ljust(9, "0")))
    return found.at(offset)


def _valid(match: re.Match[str]) -> bool:
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year or 4, month)[1]:
        return False
    if int(match[4]) > 23 or int(match[5]) > 59 or int(match[6]) > 59:
        return False
    return not match[8] or (int(match[9]) <= 24 and int(match[10]) <= 60)


def text_of_timestamp(value: Timestamp) -> str:
    """Print a point in time with the offset that it was written with."""
    seconds, nanos = divmod(int(value), _SECOND)
    shown = civil(seconds + value.offset)
    part = f".{nanos:09d}".rstrip("0") if nanos else ""
    hours, minutes = divmod(abs(value.offset) // 60, 60)
    zone = f"{'-' if value.offset < 0 else '+'}{hours:02d}:{minutes:02d}" if value.offset else "Z"
    return f"{shown.year:04d}-{shown.moment:%m-%dT%H:%M:%S}{part}{zone}"


class Civil(NamedTuple):
    """A date and time without a zone; ``moment`` is right but for its year, which ``datetime`` may not know."""

    year: int
    moment: datetime


def civil(seconds: int) -> Civil:
    """Give date and time of seconds since 1970."""
    cycles = (seconds > _SAFE) - (seconds < -_SAFE)
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds - cycles * _CYCLE)
    return Civil(moment.year + 400 * cycles, moment)


def local(value: Timestamp, zone: str = "UTC") -> Civil:
    """Give date and time in a zone: a name of the IANA data base or an offset. Raises ``EvaluationError``."""
    seconds = int(value) // _SECOND
    return civil(seconds + _offset_at(seconds, zone))


def _offset_at(seconds: int, name: str) -> int:
    if ":" in name:
        return _offset(name)
    if name in ("", "UTC", "Local"):  # the scheduler's container has no zone of its own
        return 0
    inside = min(max(seconds, -_SAFE), _SAFE)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=inside)
    offset = moment.astimezone(_zone(name)).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _zone(name: str) -> tzinfo:
    work.elements(_LOOKING_UP)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _offset(text: str) -> int:
    """Give the seconds of ``hours:minutes``, which may be any numbers: what is too large wraps at 64 bits."""
    hours, minutes = map(_number, text.split(":", 1))
    total = amounts.wrap64(hours * 60 - minutes if text[0] == "-" else hours * 60 + minutes)
    return trunc(amounts.wrap64(total * 60 * _SECOND) / _SECOND)


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise EvaluationError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    if len(text.lstrip("+-0")) > 19 or not amounts.fits64(int(text)):
        raise EvaluationError(f'strconv.Atoi: parsing "{text}": value out of range')
    return int(text)
