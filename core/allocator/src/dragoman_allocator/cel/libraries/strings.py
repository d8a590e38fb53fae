"""The string functions of cel-go's extension, version 2; positions count code points."""

from __future__ import annotations

from typing import Final

from dragoman_allocator.cel import work
from dragoman_allocator.cel.attributes import printed
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.functions import function, method
from dragoman_allocator.cel.values import Value

_BLANKS: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    work.characters(len(text))
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    work.characters(len(text))
    return text.rfind(part)


def _last_index_before(text: str, part: str, offset: int) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    if offset >= len(text):
        return -1
    work.characters(len(text))
    return text.rfind(part, 0, offset + len(part))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old) if limit < 0 else min(text.count(old), limit)
    work.characters(len(text) + max(0, count * (len(new) - len(old))))
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    work.elements(text.count(separator) + 1)
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if 0 < limit < len(text):
        return [*text[: limit - 1], text[limit - 1 :]]
    return list(text)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if index is not None and not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _join(parts: list[Value], separator: str = "") -> str:
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(f"join: invalid input: {printed(part)}")
    work.characters(sum(map(len, parts)) + len(separator) * len(parts) + len(parts))
    return separator.join(parts)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


OVERLOADS: Final = (
    method("charAt", "string, int -> string", "string_char_at_int", _char_at),
    method("indexOf", "string, string -> int", "string_index_of_string", _index_of),
    method("indexOf", "string, string, int -> int", "string_index_of_string_int", _index_of),
    method("lastIndexOf", "string, string -> int", "string_last_index_of_string", _last_index_of),
    method("lastIndexOf", "string, string, int -> int", "string_last_index_of_string_int", _last_index_before),
    method("lowerAscii", "string -> string", "string_lower_ascii", lambda text: text.translate(_LOWER)),
    method("upperAscii", "string -> string", "string_upper_ascii", lambda text: text.translate(_UPPER)),
    method("replace", "string, string, string -> string", "string_replace_string_string", _replace),
    method("replace", "string, string, string, int -> string", "string_replace_string_string_int", _replace),
    method("split", "string, string -> list<string>", "string_split_string", _split),
    method("split", "string, string, int -> list<string>", "string_split_string_int", _split),
    method("substring", "string, int -> string", "string_substring_int", _substring),
    method("substring", "string, int, int -> string", "string_substring_int_int", _substring),
    method("trim", "string -> string", "string_trim", lambda text: text.strip(_BLANKS)),
    method("join", "list<string> -> string", "list_join", _join),
    method("join", "list<string>, string -> string", "list_join_string", _join),
    function("strings.quote", "string -> string", "strings_quote", _quote),
)
