"""Differences that are upstream's faults: each with the number of the issue or change that tells of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.compare import Difference

Json = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """A fault of the released code that the library does not repeat."""

    issue: str
    about: str
    explains: Callable[[Json, Json, Sequence[Difference]], bool]
    """Told the question, upstream's answer and the differences."""


FAULTS: tuple[Fault, ...] = ()


def explained(question: Json, theirs: Json, found: Sequence[Difference]) -> Fault | None:
    """Give the fault that explains what differs, if one does."""
    return next((fault for fault in FAULTS if fault.explains(question, theirs, found)), None)
