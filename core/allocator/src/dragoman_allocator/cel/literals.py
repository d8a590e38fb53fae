"""Values of literals: numbers within 64 bits, strings and bytes with their escapes."""

from __future__ import annotations

import re
from typing import Final

from dragoman_allocator.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_SIMPLE: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPED: Final = re.compile(r"\\(?:([xX])(..)|u(....)|U(........)|([0-3][0-7]{2})|(.))", re.DOTALL)


def int_value(text: str) -> int:
    """Read an int literal with its sign. Raises ``ValueError`` beyond 64 bits."""
    value = _number(text)
    if not INT_MIN <= value <= INT_MAX:
        raise ValueError("invalid int literal")
    return value


def uint_value(text: str) -> Uint:
    """Read a uint literal with its suffix. Raises ``ValueError`` beyond 64 bits."""
    value = _number(text[:-1])
    if value > UINT_MAX:
        raise ValueError("invalid uint literal")
    return Uint(value)


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    value = int(digits, 16) if digits.startswith("0x") else int(digits.lstrip("0")[:40] or "0")
    return -value if text.startswith("-") else value


def double_value(text: str) -> float:
    """Read a double literal. Raises ``ValueError`` where it is beyond the range."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("invalid double literal")
    return value


def string_value(text: str) -> str:
    """Read a string literal with its quotes. Raises ``ValueError`` for an escape that is no character."""
    body, raw = _unquote(text)
    return body if raw else _ESCAPED.sub(_character, body)


def bytes_value(text: str) -> bytes:
    """Read a bytes literal with its quotes; ``\\x`` and octal escapes are single bytes. Raises ``ValueError``."""
    body, raw = _unquote(text[1:])
    if raw:
        return body.encode()
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPED.finditer(body):
        parts += (body[end : match.start()].encode(), _byte(match))
        end = match.end()
    return b"".join((*parts, body[end:].encode()))


def _unquote(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    text = text[raw:]
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[width:-width], raw


def _character(match: re.Match[str]) -> str:
    code = match[2] or match[3] or match[4]
    if code is not None:
        return _code_point(int(code, 16))
    if match[5] is not None:
        return _code_point(int(match[5], 8))
    return _SIMPLE[match[6]]


def _code_point(value: int) -> str:
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(value)


def _byte(match: re.Match[str]) -> bytes:
    if match[2] is not None:
        return bytes([int(match[2], 16)])
    if match[5] is not None:
        return bytes([int(match[5], 8)])
    if match[6] is None:
        raise ValueError("unable to unescape string")
    return _SIMPLE[match[6]].encode()
