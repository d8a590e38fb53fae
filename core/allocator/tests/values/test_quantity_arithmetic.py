import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_allocator.quantity import InvalidQuantity, Quantity, parse

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "apimachinery.json").read_text())
"""Random and chosen texts with what k8s.io/apimachinery v0.37.2 makes of them: text, Value(), MilliValue()."""


def _shown(quantity: Quantity) -> list[object]:
    return [quantity.text, quantity.units, quantity.millis]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: " ".join(vector["texts"]))
def test_reading_comparing_and_calculating_agree_with_apimachinery(vector: dict[str, Any]) -> None:
    first, second = map(parse, vector["texts"])
    assert [_shown(first), _shown(second)] == vector["read"]
    assert first.compare(second) == vector["cmp"]
    assert _shown(first + second) == vector["sum"]
    assert _shown(first - second) == vector["difference"]
    assert _shown(first * vector["factor"]) == vector["product"]
    assert _shown(first * second) == vector["decimal_product"]


@pytest.mark.parametrize(
    ("first", "second", "text", "style"),
    [
        ("1Gi", "1G", "2073741824", "BinarySI"),
        ("1Gi", "500m", "1073741824500m", "BinarySI"),
        ("1e3", "1Ki", "2024", "DecimalExponent"),
        ("0", "1Gi", "1Gi", "BinarySI"),
        ("0Ki", "1500m", "1500m", "DecimalSI"),
        ("9Ei", "9Ei", "18446744073709551614", "BinarySI"),
    ],
)
def test_a_sum_keeps_the_left_format_unless_the_left_is_zero(first: str, second: str, text: str, style: str) -> None:
    total = parse(first) + parse(second)
    assert (total.text, total.format) == (text, style)


def test_subtracting_from_zero_takes_the_right_format() -> None:
    assert (parse("0") - parse("1Gi")).text == "-1Gi"


def test_the_same_amount_in_other_words_is_equal_and_hashes_alike() -> None:
    same = [parse(text) for text in ("1Gi", "1024Mi", "1073741824", "1073741824000m", "1073741.824k")]
    assert len(set(same)) == 1
    assert all(one == other for one in same for other in same)


def test_zero_is_equal_to_zero_in_every_format() -> None:
    assert len({parse(text) for text in ("0", "0Ki", "0e5", "-0", "0e-20")}) == 1
    assert not any(map(parse, ("0", "0Ki", "0e5")))


def test_amounts_of_very_different_size_are_ordered_without_calculating_them() -> None:
    texts = ["-1e1000000000", "-1e999", "-1n", "0", "1n", "1e999", "1e1000000000"]
    assert sorted(map(parse, reversed(texts))) == [parse(text) for text in texts]


def test_the_exact_amount_is_a_whole_number_of_nanos() -> None:
    assert parse("1.5").nanos == 1_500_000_000
    assert parse("1Ki").nanos == 1024 * 10**9
    with pytest.raises(InvalidQuantity, match="whole number of 1n"):
        _ = (parse("1n") * parse("500m")).nanos


def test_only_what_is_held_as_a_whole_number_is_an_int64() -> None:
    assert parse("2k").as_int64 == 2000
    assert parse("1000m").as_int64 is None
    assert parse("10E").as_int64 is None


def test_an_equal_quantity_is_not_equal_to_its_text() -> None:
    assert parse("1") != "1"
