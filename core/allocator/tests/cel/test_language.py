"""The language itself: literals, operators, and what never happens for any text."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_allocator.cel import CompileError, EvaluationError
from dragoman_allocator.cel.devices import device_value

from .celworld import DEVICE, DRIVER, STORED, verdict

WORDS = (
    "device", ".", "attributes", "[", "]", f'"{DRIVER}"', "i", "s", "is", "(", ")", "&&", "||", "!", "-", "+", "*",
    "/", "%", "==", "!=", "<", ">", "in", "1", "2u", "1.5", '"a"', "b'b'", "true", "null", "?", ":", ",", "{", "}",
    "size", "all", "exists", "map", "filter", "x", "has", "cel", "bind", "optional", "of", "none", "quantity",
    "semver", "matches", "dyn", "type", "int", "string", "format", "split", "join", "sort", "sum", "includes", "\\",
    "'", "`a`", "//", "\n", "é", "\ud800",
)  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=25))
@settings(max_examples=400, derandomize=True, deadline=None)
def test_no_text_ends_in_anything_but_a_verdict_or_an_error(words: list[str]) -> None:
    for text in ("".join(words), " ".join(words)):
        with suppress(CompileError, EvaluationError):
            assert STORED.compile(text).evaluate(DRIVER, DEVICE) in (True, False)


@given(st.text(max_size=60))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_texts_survive_as_literals(text: str) -> None:
    quoted = "".join(f"\\U{ord(char):08x}" for char in text if not 0xD800 <= ord(char) <= 0xDFFF)
    plain = "".join(char for char in text if not 0xD800 <= ord(char) <= 0xDFFF)
    assert verdict(f'"{quoted}".size() == {len(plain)}') is True
    assert verdict(f'bytes("{quoted}").size() == {len(plain.encode())}') is True


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_integers_are_exact_or_overflow(a: int, b: int) -> None:
    for sign, exact in (("+", a + b), ("-", a - b), ("*", a * b)):
        expected = f"({a}) {sign} ({b}) == {exact}" if -(2**63) <= exact < 2**63 else None
        if expected is None:
            assert verdict(f"(dyn({a}) {sign} dyn({b})) == 0") == "run: integer overflow"
        else:
            assert verdict(expected) is True


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1).filter(bool))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_division_truncates_and_the_rest_makes_up_for_it(a: int, b: int) -> None:
    if (a, b) == (-(2**63), -1):
        assert verdict(f"{a} / {b} == 0") == "run: integer overflow"
        return
    assert verdict(f"({a} / {b}) * {b} + {a} % {b} == {a}") is True


@given(st.lists(st.integers(-50, 50), max_size=20), st.randoms(use_true_random=False))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_list_functions_agree_with_python(values: list[int], source: random.Random) -> None:
    shuffled = list(values)
    source.shuffle(shuffled)
    assert verdict(f"{shuffled}.sort() == {sorted(values)}") is True
    assert verdict(f"{values}.sum() == {sum(values)}") is True
    assert verdict(f"{values}.map(x, x * 2).filter(x, x > 0) == {[2 * v for v in values if v > 0]}") is True
    assert verdict(f"{values}.distinct() == {list(dict.fromkeys(values))}") is True
    assert verdict(f"sets.equivalent({values}, {shuffled})") is True


@pytest.mark.parametrize(
    "text",
    [
        '"\\q"',
        '"\\ud800"',
        "9223372036854775808",
        "18446744073709551616u",
        "1e400",
        "'a\nb'",
        "0x",
        "b'\\u0041'",
        "a.1",
        "1 2",
    ],
)
def test_bad_literals_are_told(text: str) -> None:
    assert str(verdict(f"{text} == null")).startswith("compile: ")


@pytest.mark.parametrize("word", ["as", "break", "if", "for", "while", "namespace", "package", "var", "void"])
def test_reserved_words_are_no_names_but_may_be_fields(word: str) -> None:
    assert f"reserved identifier: {word}" in str(verdict(f"{word} == 1"))
    assert verdict(f'{{"{word}": 1}}.{word} == 1') is True


def test_errors_show_the_place() -> None:
    assert verdict("true &&\n nope") == (
        "compile: compilation failed: ERROR: <input>:2:2: undeclared reference to 'nope' (in container '')\n"
        " |  nope\n | .^"
    )


def test_messages_are_refused_clearly() -> None:
    text = str(verdict("google.protobuf.Int64Value{value: 1} == 1"))
    assert text.endswith("the construction of messages (google.protobuf.Int64Value) is not supported by this library")


@pytest.mark.parametrize("text", ["!!-1 == -1", "!! -1.5 == -1.5", "!!-0x10 == -16", "--1 == 1", "-(-1) == 1"])
def test_signs_in_a_row_cancel_out_and_belong_to_a_number_behind_them(text: str) -> None:
    assert verdict(text) is True


@pytest.mark.parametrize("key", ["b'a'", 'semver("1.0.0")', "[1]", "1"])
def test_a_key_that_cannot_be_hashed_is_in_no_map_that_hashes_nothing(key: str) -> None:
    for entries in (
        "{}",
        "device.attributes",
        f'device.attributes["{DRIVER}"]',
        'device.capacity["other.example.com"]',
    ):
        assert verdict(f"dyn({key}) in {entries}") is False


@pytest.mark.parametrize("key", ["b'a'", 'semver("1.0.0")'])
def test_a_key_that_cannot_be_hashed_ends_the_evaluation_in_a_map_with_entries(key: str) -> None:
    with pytest.raises(EvaluationError, match="hash of unhashable type"):
        STORED.compile(f'dyn({key}) in {{"a": device.driver}}').evaluate(DRIVER, DEVICE)


def test_a_presence_test_of_a_presence_test_is_the_inner_one() -> None:
    # cel-go's macro looks at operand and field only
    assert verdict("has(has(device.driver))") is True
    assert verdict("has(has({'a': 1}.b))") is False


@pytest.mark.parametrize("index", ["0.5", "9223372036854775808.0", "18446744073709551615u"])
def test_numbers_that_are_no_index_are_named(index: str) -> None:
    assert str(verdict(f"[1][dyn({index})] == 1")).startswith("run: unsupported index value ")


def test_a_missing_field_of_an_optional_costs_nothing() -> None:
    # the observer of costs sees a step of an optional only where something is found
    program = STORED.compile("has(optional.of({'a': 1}).b)")
    other = STORED.compile("has(optional.of({'a': 1}).a)")
    value = device_value(DRIVER, DEVICE)
    assert program.measured(value)[1] == other.measured(value)[1] - 1
