"""What may differ, and why: faults of upstream by the number of their issue or change, and limits of the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.differential.compare import Difference

Json = dict[str, Any]

_MANY_STEPS = 2_000_000


@dataclass(frozen=True)
class Reason:
    """A fault of the released code that the library does not repeat, or a limit of the library."""

    source: str
    about: str
    explains: Callable[[Json, Json, Sequence[Difference]], bool]
    """Told the question, upstream's answer and the differences."""


def _gave_up(_: Json, theirs: Json, found: Sequence[Difference]) -> bool:
    late = any(one.where == "verdict" and one.ours == "timeout" for one in found)
    return late and int(theirs.get("steps") or 0) > _MANY_STEPS


REASONS: tuple[Reason, ...] = (
    Reason(
        "limit", "a search of millions of steps is given up after 8.5 s, which upstream ends within its 10", _gave_up
    ),
)


def explained(question: Json, theirs: Json, found: Sequence[Difference]) -> Reason | None:
    """Give the reason for what differs, if one is known."""
    return next((reason for reason in REASONS if reason.explains(question, theirs, found)), None)
