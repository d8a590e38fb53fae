"""Room for deep expressions: upstream takes 250 levels, each of which needs several calls of Python here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, TypeVar

DEEP: Final = 20_000
"""Calls within calls that the deepest expression stays below."""

T = TypeVar("T")


def with_room(run: Callable[[], T]) -> T:
    """Run; where it needs more calls within calls than Python allows, raise that limit and run once more.

    Only an expression of some 60 levels gets there. The limit stays, since other threads may need it.
    """
    try:
        return run()
    except RecursionError:
        if sys.getrecursionlimit() >= DEEP:
            raise
    sys.setrecursionlimit(DEEP)
    return run()
