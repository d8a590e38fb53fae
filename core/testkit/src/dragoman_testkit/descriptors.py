"""The descriptors that this process holds, for tests of what leaves none behind."""

from __future__ import annotations

import contextlib
import gc
import os

_OWN = "/proc/self/fd"


def held() -> frozenset[tuple[str, str]]:
    """Give number and target of each open descriptor.

    What is new between two calls stayed open. What is missing tells nothing: other threads, and what the garbage
    collector ends, close theirs at any time; what is garbage already ends here.
    """
    gc.collect()
    found = set()
    for number in os.listdir(_OWN):  # noqa: PTH208 - one of them is that of the listing, which is gone by now
        with contextlib.suppress(FileNotFoundError):
            found.add((number, os.readlink(f"{_OWN}/{number}")))  # noqa: PTH115 - it is a text, and no path
    return frozenset(found)
