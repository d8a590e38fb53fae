"""Regular expressions as Go has them, run by RE2, which takes time linear in the text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # ships no types

from dragoman_allocator.cel.errors import EvaluationError

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 64 << 20


class InvalidPattern(EvaluationError):
    """The text is no regular expression."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """Compile a pattern. Raises ``InvalidPattern``."""
    try:
        return re2.compile(pattern, _OPTIONS)
    except (re2.error, ValueError) as error:
        raise InvalidPattern(f"error parsing regexp: {error}") from None


def matches(text: str, pattern: str) -> bool:
    """Tell whether the pattern matches anywhere in the text."""
    return compiled(pattern).search(text) is not None


def find(text: str, pattern: str) -> str:
    """Give the first match, an empty text if there is none."""
    found = _compiled_for_find(pattern).search(text)
    return "" if found is None else str(found[0])


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Give all matches, or the first ``limit``; an empty match right after another match does not count."""
    found: list[str] = []
    end = -1
    for match in _compiled_for_find(pattern).finditer(text):
        if len(found) == limit:
            break
        if match.end() > match.start() or match.start() != end:
            found.append(str(match[0]))
        end = match.end()
    return found


def _compiled_for_find(pattern: str) -> Any:
    try:
        return compiled(pattern)
    except InvalidPattern as error:
        raise EvaluationError(f"Illegal regex: {error}") from None
