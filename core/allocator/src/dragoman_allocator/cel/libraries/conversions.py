"""Conversions between types, with the texts and ranges that Go accepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from math import isinf, isnan, trunc
from typing import Final

from dragoman_allocator.cel import temporal, work
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.functions import Overload, Run, function
from dragoman_allocator.cel.operators import bounded
from dragoman_allocator.cel.values import INT_MAX, INT_MIN, UINT_MAX, Timestamp, Uint, Value, type_of

_INT: Final = re.compile(r"[+-]?[0-9]+")
_UINT: Final = re.compile(r"[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL: Final = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_HEX: Final = re.compile(r"([+-]?)0[xX]_?([0-9a-fA-F_]*\.?[0-9a-fA-F_]*)[pP]([+-]?[0-9]+)")
_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE: Final = ("0", "f", "F", "FALSE", "false", "False")
_MOST_DIGITS: Final = 400
_EXPONENT_FROM: Final = 6


def _failed(source: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def _integer(text: str, form: re.Pattern[str], low: int, high: int, target: str) -> int:
    work.characters(len(text))
    digits = text.lstrip("+-").lstrip("0")
    if form.fullmatch(text) is None or len(digits) > 20 or not low <= int(text) <= high:
        raise _failed("string", target)
    return int(text)


def int_of_text(text: str) -> int:
    """Read an int64. Raises ``EvaluationError``."""
    return _integer(text, _INT, INT_MIN, INT_MAX, "int")


def _uint_of_text(text: str) -> Uint:
    return Uint(_integer(text, _UINT, 0, UINT_MAX, "uint"))


def _int_of_double(value: float) -> int:
    if isnan(value) or isinf(value) or value <= float(INT_MIN) or value >= float(INT_MAX):
        raise EvaluationError("integer overflow")
    return trunc(value)


def _uint_of_double(value: float) -> Uint:
    if isnan(value) or isinf(value) or value < 0 or value >= float(2**64):
        raise EvaluationError("unsigned integer overflow")
    return Uint(trunc(value))


def double_of_text(text: str) -> float:
    """Read a double as Go does: also infinities, NaN and hexadecimal floats. Raises ``EvaluationError``."""
    work.characters(len(text))
    if _SPECIAL.fullmatch(text):
        if "nan" in text.lower() and text[0] in "+-":
            raise _failed("string", "double")
        return float(text)
    digits = _BETWEEN_DIGITS.sub("", text)
    value = float(digits) if _DECIMAL.fullmatch(digits) else _hexadecimal(text)
    if isinf(value):
        raise _failed("string", "double")
    return value


def _hexadecimal(text: str) -> float:
    match = _HEX.fullmatch(text)
    if match is None or not match[2].strip("._") or "__" in match[2] or match[2].endswith("_"):
        raise _failed("string", "double")
    try:
        return float.fromhex(f"{match[1]}0x{match[2].replace('_', '')}p{match[3]}")
    except (OverflowError, ValueError):
        raise _failed("string", "double") from None


def text_of_double(value: float) -> str:
    """Print a double as Go's ``%g`` does."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if str(value)[0] == "-" else "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = exponent + len(digits) - 1
    if not -4 <= power < _EXPONENT_FROM:
        return "-" * sign + _scientific("".join(map(str, digits)), power)
    return f"{Decimal(repr(value)).normalize():f}"


def _scientific(digits: str, power: int) -> str:
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _bool_of_text(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _failed("string", "bool")


def _bytes_of_text(text: str) -> bytes:
    work.characters(len(text))
    return text.encode()


def text_of_bytes(value: bytes) -> str:
    """Read UTF-8. Raises ``EvaluationError``."""
    work.characters(len(value))
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def text_of_bool(value: bool) -> str:
    """Print a bool."""
    return "true" if value else "false"


def _same(value: Value) -> Value:
    return value


def _to(target: str, **sources: tuple[str, Callable[[Value], Value]]) -> Iterator[Overload]:
    for source, (id_, run) in sources.items():
        yield function(target, f"{source} -> {target}", id_, run)


OVERLOADS: Final = (
    *_to("bool", bool=("bool_to_bool", _same), string=("string_to_bool", _bool_of_text)),
    *_to("bytes", bytes=("bytes_to_bytes", _same), string=("string_to_bytes", _bytes_of_text)),
    *_to(
        "double",
        double=("double_to_double", _same),
        int=("int64_to_double", float),
        string=("string_to_double", double_of_text),
        uint=("uint64_to_double", float),
    ),
    *_to("duration", duration=("duration_to_duration", _same), string=("string_to_duration", temporal.parse_duration)),
    *_to(
        "int",
        int=("int64_to_int64", _same),
        double=("double_to_int64", _int_of_double),
        duration=("duration_to_int64", int),
        string=("string_to_int64", int_of_text),
        timestamp=("timestamp_to_int64", lambda value: int(value) // 10**9),
        uint=("uint64_to_int64", lambda value: bounded(int, int(value))),
    ),
    *_to(
        "string",
        string=("string_to_string", _same),
        bool=("bool_to_string", text_of_bool),
        bytes=("bytes_to_string", text_of_bytes),
        double=("double_to_string", text_of_double),
        duration=("duration_to_string", temporal.text_of_duration),
        int=("int64_to_string", str),
        timestamp=("timestamp_to_string", temporal.text_of_timestamp),
        uint=("uint64_to_string", str),
    ),
    *_to(
        "timestamp",
        timestamp=("timestamp_to_timestamp", _same),
        int=("int64_to_timestamp", lambda value: bounded(Timestamp, value * 10**9)),
        string=("string_to_timestamp", temporal.parse_timestamp),
    ),
    *_to(
        "uint",
        uint=("uint64_to_uint64", _same),
        double=("double_to_uint64", _uint_of_double),
        int=("int64_to_uint64", lambda value: bounded(Uint, value)),
        string=("string_to_uint64", _uint_of_text),
    ),
    function("dyn", "A -> dyn", "to_dyn"),
    function("type", "A -> type<A>", "type"),
)

SINGLETONS: Final[dict[str, Run]] = {"dyn": _same, "type": type_of}
