"""``quantity`` and ``semver``: values of capacity and of version attributes, and their methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dragoman_allocator import quantity, semver
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.functions import Run, function, method
from dragoman_allocator.cel.values import Sum, Value
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.quantity import EXPONENT, Quantity
from dragoman_allocator.semver import Version


def _amount(value: Value) -> Quantity:
    return value.quantity if type(value) is Sum else value


def _quantity(text: str) -> Quantity:
    try:
        return quantity.parse_text(text)
    except InvalidInput as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse_text(text)
    except InvalidInput:
        return False
    return True


def _as_integer(value: Value) -> int:
    whole = _amount(value).as_int64
    if whole is None:
        raise EvaluationError("cannot convert value to integer")
    return whole


def _as_float(value: Value) -> float:
    mantissa, exponent = _amount(value).decimal
    base = float(mantissa)
    return base * float(f"1e{exponent}") if exponent else base


def _compare_amounts(accepts: Callable[[int], Value]) -> Run:
    return lambda a, b: accepts(_amount(a).compare(_amount(b)))


def _calculated(calculate: Callable[[Quantity, Quantity], Quantity]) -> Run:
    def run(a: Value, b: Value) -> Sum:
        other = Quantity.of_int(b, EXPONENT) if type(b) is int else _amount(b)
        try:
            return Sum(calculate(_amount(a), other))
        except InvalidInput as error:
            raise EvaluationError(str(error)) from None

    return run


def _version(text: str, normalize: bool = False) -> Version:
    try:
        return semver.parse(semver.normalize(text) if normalize else text)
    except InvalidInput as error:
        raise EvaluationError(str(error)) from None


def _is_version(text: str, normalize: bool = False) -> bool:
    try:
        semver.parse(semver.normalize(text) if normalize else text)
    except InvalidInput:
        return False
    return True


def _compare_versions(accepts: Callable[[int], Value]) -> Run:
    return lambda a, b: accepts((a > b) - (a < b))


_ADD: Final = _calculated(lambda a, b: a + b)
_SUB: Final = _calculated(lambda a, b: a - b)


def _wrapped(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


OVERLOADS: Final = (
    function("quantity", "string -> Quantity", "string_to_quantity", _quantity),
    function("isQuantity", "string -> bool", "is_quantity_string", _is_quantity),
    function("sign", "Quantity -> int", "quantity_sign", lambda q: _amount(q).sign),
    method(
        "isGreaterThan", "Quantity, Quantity -> bool", "quantity_is_greater_than", _compare_amounts(lambda c: c > 0)
    ),
    method("isLessThan", "Quantity, Quantity -> bool", "quantity_is_less_than", _compare_amounts(lambda c: c < 0)),
    method("compareTo", "Quantity, Quantity -> int", "quantity_compare_to", _compare_amounts(lambda c: c)),
    method("asApproximateFloat", "Quantity -> double", "quantity_get_float", _as_float),
    method("asInteger", "Quantity -> int", "quantity_get_int", _as_integer),
    method("isInteger", "Quantity -> bool", "quantity_is_integer", lambda q: _amount(q).as_int64 is not None),
    method("add", "Quantity, Quantity -> Quantity", "quantity_add", _ADD),
    method("add", "Quantity, int -> Quantity", "quantity_add_int", _ADD),
    method("sub", "Quantity, Quantity -> Quantity", "quantity_sub", _SUB),
    method("sub", "Quantity, int -> Quantity", "quantity_sub_int", _SUB),
    function("semver", "string -> Semver", "string_to_semver", _version),
    function("semver", "string, bool -> Semver", "string_bool_to_semver", _version),
    function("isSemver", "string -> bool", "is_semver_string", _is_version),
    function("isSemver", "string, bool -> bool", "is_semver_string_bool", _is_version),
    method("isGreaterThan", "Semver, Semver -> bool", "semver_is_greater_than", _compare_versions(lambda c: c > 0)),
    method("isLessThan", "Semver, Semver -> bool", "semver_is_less_than", _compare_versions(lambda c: c < 0)),
    method("compareTo", "Semver, Semver -> int", "semver_compare_to", _compare_versions(lambda c: c)),
    method("major", "Semver -> int", "semver_major", lambda v: _wrapped(v.major)),
    method("minor", "Semver -> int", "semver_minor", lambda v: _wrapped(v.minor)),
    method("patch", "Semver -> int", "semver_patch", lambda v: _wrapped(v.patch)),
)
