from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_allocator.quantity import InvalidQuantity, Quantity, parse, parse_text

SCALE: dict[str, int | Fraction] = {
    "": 1,
    "m": Fraction(1, 1000),
    "k": 1000,
    "M": 10**6,
    "E": 10**18,
    "Ki": 1024,
    "Mi": 2**20,
    "Gi": 2**30,
    "e3": 1000,
}

amounts = st.builds(
    lambda sign, whole, part, suffix: f"{sign}{whole}{part}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**9),
    st.sampled_from(["", ".5", ".25", ".001"]),
    st.sampled_from(list(SCALE)),
)


def exact(text: str) -> Fraction:
    """The amount by schoolbook arithmetic, for texts without rounding or cap."""
    suffix = next(suffix for suffix in sorted(SCALE, key=len, reverse=True) if text.endswith(suffix))
    return Fraction(text.removesuffix(suffix)) * SCALE[suffix]


def value(quantity: Quantity) -> Fraction:
    return Fraction(quantity.nanos, 10**9)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(amounts, amounts)
def test_reading_adding_subtracting_and_comparing_are_exact(first: str, second: str) -> None:
    one, other = parse(first), parse(second)
    assert value(one) == exact(first)
    assert value(one + other) == exact(first) + exact(second)
    assert value(one - other) == exact(first) - exact(second)
    assert (one < other, one == other) == (exact(first) < exact(second), exact(first) == exact(second))
    assert one != other or hash(one) == hash(other)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(amounts, st.integers(-(10**6), 10**6))
def test_a_multiple_is_exact(text: str, factor: int) -> None:
    assert value(parse(text) * factor) == exact(text) * factor


@settings(derandomize=True, max_examples=200, deadline=None)
@given(amounts)
def test_what_is_printed_reads_as_the_same_amount_and_prints_the_same_again(text: str) -> None:
    again = parse((parse(text) + parse("0")).text)
    assert again == parse(text)
    assert (again + parse("0")).text == (parse(text) + parse("0")).text


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.text("0123456789.+-eEKMGinumk \n\u0663", max_size=12))
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    try:
        quantity = parse_text(text)
    except InvalidQuantity:
        return
    assert isinstance(quantity.text, str)
    assert -(2**63) <= quantity.units < 2**63
    assert -(2**63) <= quantity.millis < 2**63
