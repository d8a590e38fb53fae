"""Regular expressions as Go has them, run by RE2, which takes time linear in the text."""

from __future__ import annotations

import re
import threading
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # ships no types

from dragoman_allocator.cel import work
from dragoman_allocator.cel.errors import EvaluationError

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 64 << 20


class InvalidPattern(EvaluationError):
    """The text is no regular expression."""


_QUOTED_OR_ESCAPED: Final = re.compile(
    r"\\Q.*?(?:\\E|$)|\\(?P<sign>[pP])(?:\{(?P<negated>\^?)(?P<name>[^}]*)\}|(?P<letter>[^{]))|\\(?P<other>.)",
    re.DOTALL,
)
_NAMES: Final = {
    "closepunctuation": "Pe", "combiningmark": "M", "connectorpunctuation": "Pc", "control": "Cc", "cntrl": "Cc",
    "currencysymbol": "Sc", "dashpunctuation": "Pd", "decimalnumber": "Nd", "digit": "Nd", "enclosingmark": "Me",
    "finalpunctuation": "Pf", "format": "Cf", "initialpunctuation": "Pi", "letter": "L", "letternumber": "Nl",
    "lineseparator": "Zl", "lowercaseletter": "Ll", "mark": "M", "mathsymbol": "Sm", "modifierletter": "Lm",
    "modifiersymbol": "Sk", "nonspacingmark": "Mn", "number": "N", "openpunctuation": "Ps", "other": "C",
    "otherletter": "Lo", "othernumber": "No", "otherpunctuation": "Po", "othersymbol": "So", "paragraphseparator": "Zp",
    "privateuse": "Co", "punctuation": "P", "punct": "P", "separator": "Z", "spaceseparator": "Zs", "spacingmark": "Mc",
    "surrogate": "Cs", "symbol": "S", "titlecaseletter": "Lt", "uppercaseletter": "Lu",
}  # fmt: skip
_UNTOLD: Final = frozenset(("cn", "lc", "ascii", "assigned", "unassigned", "casedletter"))


def _as_re2(match: re.Match[str]) -> str:
    """Write an escape of Go as RE2 has it: names of character classes in one spelling, no single bytes."""
    if match["other"] == "C":
        raise InvalidPattern("error parsing regexp: invalid escape sequence: `\\C`")
    written = match["letter"] or match["name"]
    if written is None:
        return match[0]
    name = re.sub("[ _-]", "", written).lower()
    if name in _UNTOLD:
        raise InvalidPattern(f"the character class {written} is not supported by this library")
    # RE2's scripts of several words have an underscore, so they are not found: nor does Go find them.
    return f"\\{match['sign']}{{{match['negated'] or ''}{_NAMES.get(name) or name.capitalize()}}}"


_WORDS_OF_GO: Final = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}
_LARGEST_CACHE: Final = 400_000
"""Instructions of all patterns that are kept; RE2 takes some hundred bytes for one."""
_TOO_LARGE: Final = 1_000_000
_cache: Final[dict[str, Any]] = {}
_lock: Final = threading.Lock()


def compiled(pattern: str) -> Any:
    """Compile a pattern, or give it again. Raises ``InvalidPattern``, and ``Abort`` where that is too much work."""
    found = _cache.get(pattern)
    if found is None:
        found = _compile(pattern)
        work.elements(found.programsize)
        _keep(pattern, found)
    return found


def _keep(pattern: str, found: Any) -> None:
    with _lock:
        _cache[pattern] = found
        size = sum(kept.programsize for kept in _cache.values())
        for oldest in list(_cache)[:-1]:
            if size <= _LARGEST_CACHE:
                break
            size -= _cache.pop(oldest).programsize


def _compile(pattern: str) -> Any:
    work.characters(len(pattern))
    try:
        found = re2.compile(_QUOTED_OR_ESCAPED.sub(_as_re2, pattern), _OPTIONS)
    except (re2.error, ValueError) as error:
        if "too large" in str(error):
            work.elements(_TOO_LARGE)
        raise InvalidPattern(_in_words_of_go(error)) from None
    re2.purge()  # it keeps the last 128 itself, however large
    for name in found.groupindex:
        if not name.isascii():
            raise InvalidPattern(f"error parsing regexp: invalid named capture: `(?P<{name}>`")
    return found


def _in_words_of_go(error: Exception) -> str:
    """Tell an error of RE2, which gives its sentences as bytes, as ``regexp/syntax.Error`` does."""
    sentence = error.args[0] if error.args else None
    if not isinstance(sentence, bytes):
        return f"error parsing regexp: {error}"
    what, _, part = sentence.decode(errors="replace").partition(": ")
    return f"error parsing regexp: {_WORDS_OF_GO.get(what, what)}: `{part}`"


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
