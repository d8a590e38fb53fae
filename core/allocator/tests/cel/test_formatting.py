"""``format`` of doubles, as golang.org/x/text prints them for cel-go: from the exact binary value."""

from __future__ import annotations

import pytest

from .celworld import verdict


@pytest.mark.parametrize(
    ("number", "places", "expected"),
    [
        ("0.35", 1, "0.3"),
        ("0.45", 1, "0.5"),
        ("2.675", 2, "2.67"),
        ("0.005", 2, "0.01"),
        ("2.5", 0, "2"),
        ("0.1", 20, "0.10000000000000000555"),
        ("1e23", 1, "99,999,999,999,999,991,611,392.0"),
        ("-0.0", 1, "0.0"),
        ("-0.01", 1, "-0.0"),
    ],
)
def test_fixed_point_rounds_the_exact_value_half_to_even(number: str, places: int, expected: str) -> None:
    assert verdict(f'"%.{places}f".format([{number}]) == "{expected}"') is True


@pytest.mark.parametrize(("number", "expected"), [("5e-324", "4.940656×10⁻³²⁴"), ("1.0000005", "1.000001×10⁰⁰")])
def test_scientific_notation_rounds_the_exact_value(number: str, expected: str) -> None:
    assert verdict(f'"%e".format([{number}]) == "{expected}"') is True


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ("255", "0.25" + "0" * 253),
        ("256", "0.25"),
        ("258", "0.25"),
        ("260", "0.2500"),
        ("32770", "0.25"),
        ("65537", "0.2"),
        ("10000009", "0.25" + "0" * 135),
        ("0000000000000000000000000000001", "0.2"),
    ],
)
def test_places_wrap_as_the_8_and_16_bits_do_in_which_they_are_kept(places: str, expected: str) -> None:
    # initDecimal: MinFractionDigits is a uint8, MaxFractionDigits an int16, and below zero means all digits
    assert verdict(f'"%.{places}f".format([0.25]) == "{expected}"') is True


def test_the_width_of_scientific_notation_wraps_at_16_bits() -> None:
    assert verdict('"%.65556e".format([1.5]) == "       1.500000×10⁰⁰"') is True


@pytest.mark.parametrize("letter", ["f", "e"])
def test_a_precision_that_the_printer_cannot_read_hides_the_letter_after_it(letter: str) -> None:
    for precision in ("10000010", str(2**63 - 1)):
        assert verdict(f'"%.{precision}{letter}".format([0.1]) == "%!(NOVERB)"') is True
    assert str(verdict(f'"%.{2**63}{letter}".format([0.1]) == ""')).startswith("compile: ")


@pytest.mark.parametrize(
    ("format_", "argument", "expected"),
    [
        ("%d", "dyn(1.5)", "decimal clause can only be used on integers, was given double"),
        ("%f", "dyn(1)", "fixed-point clause can only be used on doubles, was given int"),
        (
            "%s",
            'dyn(quantity("1"))',
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
            "and timestamps, was given kubernetes.Quantity",
        ),
        ("%s", '[dyn(quantity("1"))]', "no formatting function for kubernetes.Quantity"),
        ("%s", "dyn({1.5: 1})", "no formatting function for map key of type double"),
    ],
)
def test_arguments_that_a_clause_cannot_print_are_named_by_their_type(
    format_: str, argument: str, expected: str
) -> None:
    assert verdict(f'"{format_}".format([{argument}]) == ""') == f"run: error during formatting: {expected}"
