"""Texts in quotes as Go prints them."""

from __future__ import annotations

from typing import Final

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
