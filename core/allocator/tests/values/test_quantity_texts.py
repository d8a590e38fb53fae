import pytest

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.quantity import BareNumber, InvalidQuantity, Quantity, parse, parse_text

PRINTED = {
    "1024": "1024",
    "1024Ki": "1Mi",
    "1023Mi": "1023Mi",
    "0.5Gi": "512Mi",
    "0.5Ki": "512",
    "0.1n": "1n",
    "1.5n": "2n",
    "1e3": "1e3",
    "1000": "1k",
    "1000m": "1",
    "1.5": "1500m",
    "1.500": "1.500",
    "1.234": "1.234",
    "1.0": "1",
    "1.": "1.",
    ".5": "500m",
    "0.5": "500m",
    "+5": "+5",
    "00012": "00012",
    "-1500m": "-1500m",
    "1.5e3": "1500",
    "100e1": "1e3",
    "1e20": "100e18",
    "12.5Mi": "12800Ki",
    "1.1Ki": "1126400m",
    "9Ei": "9223372036854775807",
    "-9Ei": "-9223372036854775807",
    "10E": "10E",
    "Ki": "0",
    "0Ki": "0",
    ".": "0",
    "e3": "0",
    "1000E": "1",  # upstream has no suffix for 10^21 and prints none
    "5e+3": "5e+3",
    "1E3": "1E3",
}


@pytest.mark.parametrize(("text", "printed"), PRINTED.items())
def test_a_quantity_prints_as_the_api_prints_it(text: str, printed: str) -> None:
    assert parse(text).text == printed


@pytest.mark.parametrize(
    "text", ["1K", "1ki", "1e", "1ee3", "--1", "1 ", "", "1.2.3", "1+5", "²", "1٣", "1_0", "0x1", "NaN", "1,5", "1\n"]
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="not a quantity"):
        parse_text(text)


@pytest.mark.parametrize("raw", [True, [], {}, b"1"])
def test_a_value_that_is_neither_text_nor_number_is_refused(raw: object) -> None:
    with pytest.raises(InvalidInput, match="a text or a number"):
        parse(raw)  # type: ignore[arg-type]  # it may come from JSON


def test_blanks_around_a_text_of_json_are_dropped_but_a_bare_text_must_not_have_them() -> None:
    assert parse(" 1Gi\u00a0") == parse("1Gi")
    with pytest.raises(InvalidQuantity):
        parse_text(" 1Gi")


def test_a_bare_number_of_json_keeps_the_text_it_was_written_with() -> None:
    assert parse(BareNumber.of("1e3")).text == "1e3"
    assert parse(BareNumber.of("1e3")).format == "DecimalExponent"
    assert parse(1000).text == "1k"
    assert parse(2.5).text == "2500m"


def test_null_is_zero() -> None:
    assert parse(None).text == "0"
    assert (parse(None) + parse("1Gi")).text == "1Gi"


@pytest.mark.parametrize(
    ("text", "units", "millis"),
    [
        ("1500m", 2, 1500),
        ("-1500m", -2, -1500),
        ("1.0001", 2, 1001),
        ("1E", 10**18, 0),
        ("1Ei", 2**60, 2**60 * 1000 % 2**64 - 2**64),
        ("9Ei", 2**63 - 1, -1000),
        ("10E", 0, 0),
    ],
)
def test_whole_units_and_thousandths_round_away_from_zero_and_wrap(text: str, units: int, millis: int) -> None:
    assert (parse(text).units, parse(text).millis) == (units, millis)


def test_a_negative_amount_beyond_18_digits_is_rounded_wrongly_as_upstream() -> None:
    assert parse("-1.5").units == -2
    assert parse("-1.500000000000000000000").units == 0


@pytest.mark.parametrize("text", ["1e1000000000", "1" * 1000 + "e999", "1e-2000000000", "9" * 1024])
def test_huge_exponents_and_many_digits_cost_nothing(text: str) -> None:
    quantity = parse(text)
    assert quantity > parse("0")
    assert len(quantity.text) < 2100
    assert hash(quantity) == hash(parse(text))


def test_an_amount_below_1n_is_1n_however_small() -> None:
    assert parse("1e-2000000000") == parse("1n")


@pytest.mark.parametrize("text", ["1" * 1025, "1" * 100_000, "1" * 30 + "e100000"])
def test_a_text_beyond_the_limits_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity, match=r"longer than the 1024|more than 3900 digits"):
        parse(text)


def test_a_sum_of_amounts_too_far_apart_is_refused() -> None:
    with pytest.raises(InvalidQuantity, match="more than 3900 digits"):
        parse("1e1000000000") + parse("1")


def test_an_integer_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(InvalidQuantity):
        parse(10**5000)


def test_a_quantity_made_of_an_integer_prints_in_its_format() -> None:
    assert Quantity.of_int(2048, "BinarySI").text == "2Ki"
    assert Quantity.of_int(2000).text == "2k"
    assert Quantity.of_millis(1500, "DecimalExponent").text == "1500e-3"
