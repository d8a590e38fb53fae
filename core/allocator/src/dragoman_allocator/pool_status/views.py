"""What the partition and the shareable view have in common: their bound, and how they say that they cannot be made."""

from __future__ import annotations

from typing import Final

MAX_ENTRIES: Final = 32
"""Entries of ``partitionSummary`` and of ``shareableSummary.capacity``."""

_ESCAPES: Final = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


class NoView(Exception):
    """The view cannot be made; the text is what ``validationError`` says."""


def quoted(text: str) -> str:
    """Quote a text as upstream's messages do (``strconv.Quote`` of Go)."""
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(character: str) -> str:
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
