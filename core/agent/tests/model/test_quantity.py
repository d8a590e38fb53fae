from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.model.quantity import InvalidQuantity, is_quantity, parse, round_up, same


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", Fraction(0)),
        ("4", Fraction(4)),
        ("00012", Fraction(12)),
        ("+5", Fraction(5)),
        ("1.", Fraction(1)),
        (".5", Fraction(1, 2)),
        ("-1500m", Fraction(-3, 2)),
        ("1.5e3", Fraction(1500)),
        ("5e+3", Fraction(5000)),
        ("1E3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("1Ei", Fraction(2**60)),
        ("12.5Mi", Fraction(12800 * 1024)),
        ("1.1Ki", Fraction(11264, 10)),
        ("Ki", Fraction(0)),
        ("1k", Fraction(1000)),
        ("2e-1", Fraction(1, 5)),
    ],
)
def test_each_form_of_the_grammar_has_its_exact_value(text: str, value: Fraction) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    "text", ["", " ", "1 ", " 1", "1K", "1ki", "1e", "1ee3", "--1", ".", "-", "1,5", "0x1", "٣", "1\n", "1e99999999"]
)
def test_other_text_is_refused(text: str) -> None:
    assert not is_quantity(text)
    with pytest.raises(InvalidQuantity, match="is not a quantity"):
        parse(text)


def test_what_is_not_text_is_no_quantity() -> None:
    assert not is_quantity(4)


def test_amounts_finer_than_a_nano_are_rounded_away_from_zero() -> None:
    assert parse("0.1n") == Fraction(1, 10**9)
    assert parse("-1.5n") == Fraction(-2, 10**9)


def test_binary_amounts_are_capped_at_the_largest_signed_integer_and_decimal_ones_are_not() -> None:
    assert parse("9Ei") == 2**63 - 1
    assert parse("-9Ei") == -(2**63 - 1)
    assert parse("10E") == 10**19


def test_rounding_goes_away_from_zero() -> None:
    assert [round_up(parse(text)) for text in ("1500m", "-1500m", "2", "1n")] == [2, -2, 2, 1]


def test_equal_values_are_the_same_whatever_their_text() -> None:
    assert same("1Gi", "1024Mi")
    assert same("1", "1000m")
    assert not same("1G", "1Gi")


@settings(derandomize=True, max_examples=100)
@given(st.integers(-(2**62), 2**62), st.sampled_from(["", "k", "M", "m"]))
def test_integers_keep_their_value_under_any_decimal_suffix(number: int, suffix: str) -> None:
    scale = {"": Fraction(1), "k": Fraction(1000), "M": Fraction(10**6), "m": Fraction(1, 1000)}[suffix]
    assert parse(f"{number}{suffix}") == number * scale
