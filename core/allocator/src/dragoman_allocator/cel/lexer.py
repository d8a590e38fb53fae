"""Tokens of CEL, as its grammar defines them; the longest match wins."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from dragoman_allocator.cel.errors import CompileError


class Token(NamedTuple):
    """A token: its kind, its text and where it starts. The kind of an operator or keyword is its text."""

    kind: str
    text: str
    at: int


_ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRINGS: Final = "|".join(
    (
        r"[rR]\"\"\"[\s\S]*?\"\"\"",
        r"[rR]'''[\s\S]*?'''",
        rf"\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"",
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        r"[rR]\"[^\"\n\r]*\"",
        r"[rR]'[^'\n\r]*'",
        rf"\"(?:{_ESCAPE}|[^\\\"\n\r])*\"",
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
    )
)
_TOKENS: Final = re.compile(
    "|".join(
        (
            r"(?P<skip>[\t \r\n\f]+|//[^\n]*)",
            rf"(?P<bytes>[bB](?:{_STRINGS}))",
            rf"(?P<string>{_STRINGS})",
            r"(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)",
            r"(?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])",
            r"(?P<int>0x[0-9a-fA-F]+|[0-9]+)",
            r"(?P<ident>[A-Za-z_][A-Za-z0-9_]*)",
            r"(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)",
            r"(?P<op>==|!=|<=|>=|&&|\|\||[\[\]{}().,\-!?:+*/%<>])",
        )
    )
)
_KEYWORDS: Final = frozenset(("in", "true", "false", "null"))


def tokens(text: str) -> list[Token]:
    """Split the expression; the last token has the kind ``end``. Raises ``CompileError`` for what is no token."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise CompileError(place(text, at, f"Syntax error: token recognition error at: '{text[at]}'"))
        kind = match.lastgroup
        assert kind is not None
        if kind != "skip":
            written = match[0]
            found.append(Token(written if kind == "op" or written in _KEYWORDS else kind, written, at))
        at = match.end()
    found.append(Token("end", "<EOF>", len(text)))
    return found


def place(text: str, at: int, message: str) -> str:
    """Name line and column of an error, and show the line."""
    line = text.count("\n", 0, at)
    column = at - (text.rfind("\n", 0, at) + 1)
    shown = text.split("\n")[line].replace("\t", " ")
    return f"ERROR: <input>:{line + 1}:{column + 1}: {message}\n | {shown}\n | {'.' * column}^"
