from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.kube.quantity import quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1Gi", Fraction(1073741824)),
        ("1024Mi", Fraction(1073741824)),
        ("1073741824", Fraction(1073741824)),
        ("1", Fraction(1)),
        ("1000m", Fraction(1)),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("1.", Fraction(1)),
        ("-2k", Fraction(-2000)),
        ("+5", Fraction(5)),
        ("100e1", Fraction(1000)),
        ("1E3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("5n", Fraction(5, 10**9)),
        (" 3 ", Fraction(3)),
        (7, Fraction(7)),
    ],
)
def test_a_quantity_is_read_by_value(text: str | int, value: Fraction) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "1K", "1ki", "1e", "one", "1 Gi", "1.5.2", "0x10"])
def test_what_is_no_quantity_has_no_value(text: str) -> None:
    assert quantity(text) is None


@settings(derandomize=True, max_examples=50)
@given(st.integers(-(10**9), 10**9), st.sampled_from(["k", "M", "G"]))
def test_a_suffix_multiplies(number: int, suffix: str) -> None:
    factor = {"k": 10**3, "M": 10**6, "G": 10**9}[suffix]
    assert quantity(f"{number}{suffix}") == quantity(str(number * factor))
