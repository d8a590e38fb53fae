"""Lengths of time as kubectl and Go write them."""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
LONGEST: Final = 24 * 3600.0


def seconds(text: str) -> float:
    """Read a length of time, such as ``30``, ``30s`` or ``1m30s``.

    Raises ``ValueError`` for what is none, and for one that is not above 0 or longer than a day.
    """
    whole = f"{text}s" if text.isascii() and text.isdigit() else text
    parts = _PART.findall(whole)
    found = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if "".join(map("".join, parts)) != whole or not 0 < found <= LONGEST:
        raise ValueError(f"{text!r} is no length of time between 0 and a day, such as 30s or 2m")
    return found
