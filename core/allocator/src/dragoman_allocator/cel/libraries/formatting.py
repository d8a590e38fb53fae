"""``format`` of cel-go's strings extension, version 2, in the English locale.

Doubles are grouped by thousands and rounded from their exact value. The precision of ``%e`` is taken for a width by
upstream, and so it is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isinf, isnan
from typing import Final, TypeAlias

from dragoman_allocator.cel import temporal, work
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.functions import method
from dragoman_allocator.cel.libraries.conversions import int_of_text, text_of_bool, text_of_bytes, text_of_double
from dragoman_allocator.cel.syntax import ListNode, MapNode, Node
from dragoman_allocator.cel.types import Kind, Type
from dragoman_allocator.cel.values import LISTS, MAPS, Duration, Timestamp, Uint, Value, type_of

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.([0-9]+))?([sdfebxXo]))")
_DEFAULT_PRECISION: Final = 6
_MOST_PRECISION: Final = 10_000_009
"""The largest precision that golang.org/x/text reads; beyond it, the letter after it is not seen."""
_UNREAD: Final = "%!(NOVERB)"
_SUPERSCRIPT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SPECIAL: Final = ("NaN", "Infinity", "-Infinity")
_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip

Clause: TypeAlias = Callable[[Value, int | None], str]


def clauses(text: str) -> list[tuple[str, str, int | None]]:
    """Split a format into texts, each with letter and precision of the clause after it (at the end an empty letter).

    Raises ``EvaluationError`` for a clause that there is not.
    """
    found: list[tuple[str, str, int | None]] = []
    before, at = "", 0
    while (start := text.find("%", at)) >= 0:
        match = _CLAUSE.match(text, start)
        if match is None:
            raise EvaluationError("could not parse formatting clause")
        before += text[at:start]
        at = match.end()
        if match[2] is None:
            before += "%"
            continue
        found.append((before, match[2], _precision(match[1])))
        before = ""
    found.append((before + text[at:], "", None))
    return found


def _precision(digits: str | None) -> int | None:
    if digits is None:
        return None
    try:
        return int_of_text(digits)
    except EvaluationError:
        message = "could not parse formatting clause: error while parsing precision: it is too large"
        raise EvaluationError(message) from None


def _format(text: str, args: list[Value]) -> str:
    parts: list[str] = []
    index = 0
    for before, letter, precision in clauses(text):
        parts.append(before)
        if letter:
            if index >= len(args):
                raise EvaluationError(f"index {index} out of range")
            parts.append(_formatted(letter, args[index], precision))
            work.characters(len(parts[-1]))
            index += 1
    return "".join(parts)


def _formatted(letter: str, value: Value, precision: int | None) -> str:
    try:
        return _CLAUSES[letter](value, precision)
    except EvaluationError as error:
        raise EvaluationError(f"error during formatting: {error}") from None


def _string(value: Value, _: int | None) -> str:
    if type(value) not in _TEXTS:
        raise EvaluationError(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
            f"and timestamps, was given {type_of(value).name}"
        )
    return _TEXTS[type(value)](value)


def _list(elements: list[Value]) -> str:
    work.container(len(elements))
    return f"[{', '.join(map(_member, elements))}]"


def _map(entries: Value) -> str:
    work.container(len(entries))
    pairs = [(_key(key), _member(value)) for key, value in zip(entries.cel_keys(), entries.values(), strict=True)]
    return f"{{{', '.join(f'{key}:{value}' for key, value in sorted(pairs, key=lambda pair: pair[0].encode()))}}}"


def _key(key: Value) -> str:
    if type(key) in (str, bool, int, Uint):
        return _member(key)
    raise EvaluationError(f"no formatting function for map key of type {type_of(key).name}")


def _member(value: Value) -> str:
    """Print an element of a list or map so that it could be read as CEL."""
    cls = type(value)
    if cls is float:
        return _plain_double(value)
    if cls not in _TEXTS:
        raise EvaluationError(f"no formatting function for {type_of(value).name}")
    text = _TEXTS[cls](value)
    work.characters(len(text))
    if cls is str:
        return quoted(text)
    if cls is bytes:
        return "b" + quoted(text)
    if cls in (Timestamp, Duration):
        return f"{'timestamp' if cls is Timestamp else 'duration'}({quoted(text)})"
    return text


_TEXTS: Final[dict[type, Callable[[Value], str]]] = {
    str: str,
    int: str,
    Uint: str,
    bool: text_of_bool,
    float: text_of_double,
    bytes: text_of_bytes,
    Timestamp: temporal.text_of_timestamp,
    Duration: temporal.text_of_duration,
    Type: lambda value: value.name,
    type(None): lambda _: "null",
    **dict.fromkeys(LISTS, _list),
    **dict.fromkeys(MAPS, _map),
}


def _plain_double(value: float) -> str:
    if isnan(value):
        return '"NaN"'
    if isinf(value):
        return '"+Inf"' if value > 0 else '"-Inf"'
    return f"{value:.6f}"


def quoted(text: str) -> str:
    """Quote as Go's ``%q`` does."""
    return f'"{"".join(_ESCAPES.get(char) or _escaped(char) for char in text)}"'


def _escaped(char: str) -> str:
    code = ord(char)
    if char.isprintable():
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _decimal(value: Value, _: int | None) -> str:
    if type(value) not in (int, Uint):
        raise EvaluationError(f"decimal clause can only be used on integers, was given {type_of(value).name}")
    return str(int(value))


def _double_arg(value: Value, clause: str) -> float:
    if type(value) is str and value in _SPECIAL:
        return float(value)
    if type(value) is not float:
        raise EvaluationError(f"{clause} clause can only be used on doubles, was given {type_of(value).name}")
    return value


def _infinite(value: float) -> str | None:
    if isnan(value):
        return "NaN"
    return ("∞" if value > 0 else "-∞") if isinf(value) else None


def _fixed(value: Value, precision: int | None) -> str:
    number = _double_arg(value, "fixed-point")
    places = _DEFAULT_PRECISION if precision is None else precision
    if places > _MOST_PRECISION:
        return _UNREAD
    special = _infinite(number)
    if special is not None:
        return special
    # Upstream keeps the least number of places in 8 bits and the most in 16, where below zero means all there are.
    least, most = places % 2**8, (places + 2**15) % 2**16 - 2**15
    digits = f"{abs(number):.{most}f}" if most >= 0 else f"{Decimal(repr(abs(number))):f}"
    whole, _, part = digits.partition(".")
    part = part.rstrip("0").ljust(least, "0")
    return f"{'-' * (number < 0)}{int(whole):,}{'.' * bool(part)}{part}"


def _scientific(value: Value, precision: int | None) -> str:
    number = _double_arg(value, "scientific")
    width = _DEFAULT_PRECISION if precision is None else precision
    if width > _MOST_PRECISION:
        return _UNREAD
    width %= 2**16
    special = _infinite(number)
    if special is not None:
        return special.rjust(width)
    mantissa, _, exponent = f"{number:.6e}".partition("e")
    if not number:
        mantissa, exponent = mantissa.removeprefix("-"), "0"
    power = f"{abs(int(exponent)):02d}" if int(exponent) >= 0 else f"-{abs(int(exponent)):02d}"
    return f"{mantissa}×10{power.translate(_SUPERSCRIPT)}".rjust(width)


def _binary(value: Value, _: int | None) -> str:
    if type(value) not in (int, Uint, bool):
        raise EvaluationError(f"only integers and bools can be formatted as binary, was given {type_of(value).name}")
    return f"{int(value):b}"


def _octal(value: Value, _: int | None) -> str:
    if type(value) not in (int, Uint):
        raise EvaluationError(f"octal clause can only be used on integers, was given {type_of(value).name}")
    return f"{int(value):o}"


def _hexadecimal(value: Value, _: int | None) -> str:
    if type(value) in (int, Uint):
        return f"{int(value):x}"
    if type(value) is str:
        return str(value.encode().hex())
    if type(value) is bytes:
        return str(value.hex())
    raise EvaluationError(
        f"only integers, byte buffers, and strings can be formatted as hex, was given {type_of(value).name}"
    )


_CLAUSES: Final[dict[str, Clause]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": lambda value, precision: _hexadecimal(value, precision).upper(),
}

_PRINTED: Final = frozenset((
    Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.TIMESTAMP, Kind.BYTES,
    Kind.DURATION, Kind.TYPE, Kind.NULL,
))  # fmt: skip
_TAKEN: Final = {
    "s": _PRINTED,
    "d": frozenset((Kind.INT, Kind.UINT)),
    "o": frozenset((Kind.INT, Kind.UINT)),
    "f": frozenset((Kind.DOUBLE, Kind.STRING)),
    "e": frozenset((Kind.DOUBLE, Kind.STRING)),
    "b": frozenset((Kind.INT, Kind.UINT, Kind.BOOL)),
    "x": frozenset((Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES)),
    "X": frozenset((Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES)),
}


def check_format(text: str, args: Sequence[Node]) -> None:
    """Check a constant format against the types of a list that is written beside it. Raises ``EvaluationError``."""
    letters = [letter for _, letter, _ in clauses(text) if letter]
    for at, letter in enumerate(letters):
        if at >= len(args):
            raise EvaluationError(f"index {at} out of range")
        _check_clause(args[at], letter)
    if len(args) > len(letters):
        raise EvaluationError(
            f"too many arguments supplied to string.format (expected {len(letters)}, got {len(args)})"
        )


def _check_clause(arg: Node, letter: str) -> None:
    assert arg.type is not None
    if arg.type.kind is not Kind.DYN and arg.type.kind not in _TAKEN[letter]:
        raise EvaluationError(f"error during formatting: clause {letter} cannot be used on {arg.type}")
    if letter != "s":
        return
    parts = arg.elements if isinstance(arg, ListNode) else []
    if isinstance(arg, MapNode):
        parts = [part for entry in arg.entries for part in (entry.key, entry.value)]
    for part in parts:
        _check_clause(part, letter)


OVERLOADS: Final = (method("format", "string, list<dyn> -> string", "string_format", _format),)
