"""A bound on work and memory beside the cost, which for many a call does not grow with what it makes or reads.

Kubernetes would go on with ``s.replace("", s)`` until it is out of memory; here the evaluation ends with an error.
"""

from __future__ import annotations

import threading
from typing import Final

from dragoman_allocator.cel.errors import Abort

BUDGET: Final = 4_000_000
_CONTAINER: Final = 12
_CHARACTERS: Final = 16


class _Work(threading.local):
    left = BUDGET


_work: Final = _Work()


def start() -> None:
    """Begin an evaluation."""
    _work.left = BUDGET


def elements(count: int) -> None:
    """Count elements that are made or compared. Raises ``Abort``."""
    _work.left -= count
    if _work.left < 0:
        raise Abort("operation cancelled: the values of this expression are too large")


def container(count: int) -> None:
    """Count a list or map that is gone through: its elements, and something for itself. Raises ``Abort``."""
    elements(count + _CONTAINER)


def characters(count: int) -> None:
    """Count characters that are made or searched. Raises ``Abort``."""
    elements(count // _CHARACTERS)
