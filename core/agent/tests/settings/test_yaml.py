"""Strict reading of YAML."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.settings.yaml import YamlError, parse


@pytest.mark.parametrize(
    "text",
    ["0000:03:00.1", "1:30", "on", "yes", "no", "off", "007", "0x10", "1_000", "2026-01-01", "15b3", ".inf"],
)
def test_value_that_json_would_not_read_stays_text(text: str) -> None:
    assert parse(f"a: {text}") == [{"a": text}]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-1", -1), ("1.5", 1.5), ("1e3", 1000.0), ("true", True), ("False", False), ("~", None), ("", None)],
)
def test_json_values_keep_their_meaning(text: str, value: object) -> None:
    [document] = parse(f"a: {text}")
    assert document == {"a": value}
    assert type(document["a"]) is type(value)


@pytest.mark.parametrize("token", ["@format {env[HOME]}", "@read_file /etc/passwd", "@int 3", "@jinja {{ 1 }}"])
def test_tokens_are_text(token: str) -> None:
    assert parse(f"a: '{token}'") == [{"a": token}]


def test_doubled_key_is_refused_with_both_lines() -> None:
    with pytest.raises(YamlError, match=r"line 4: key 'c' stands in line 3 already"):
        parse("a: 1\nb:\n  c: 1\n  c: 2\n")


def test_keys_that_differ_in_case_are_different() -> None:
    assert parse("a: 1\nA: 2") == [{"a": 1, "A": 2}]


@pytest.mark.parametrize("text", ["1: a", "true: a", "~: a", "? [a]\n: b"])
def test_key_that_is_no_text_is_refused(text: str) -> None:
    with pytest.raises(YamlError, match="line 1: a key must be text"):
        parse(text)


def test_aliases_are_refused() -> None:
    with pytest.raises(YamlError, match="line 2: aliases"):
        parse("a: &x [1]\nb: *x")


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!!binary", "!!set", "!!timestamp", "!own"])
def test_tags_that_make_objects_are_refused(tag: str) -> None:
    with pytest.raises(YamlError, match="line 1: could not determine a constructor"):
        parse(f"a: {tag} x")


def test_merge_key_is_an_ordinary_key() -> None:
    assert parse("<<: {a: 1}") == [{"<<": {"a": 1}}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [", "line 2"),
        ("a:\n\t- b", "line 2"),
        ("a: @x", "line 1"),
        ("[" * 20_000, "nested too deeply"),
        (b"\xff", "not UTF-8"),
        ("a: \x00", "unacceptable character"),
    ],
)
def test_broken_text_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(YamlError, match=message) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_documents_come_apart() -> None:
    assert parse("a: 1\n---\nb: 2\n---\n") == [{"a": 1}, {"b": 2}, None]


TEXT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(-1e6, 1e6) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(JSON)
def test_json_is_yaml_of_the_same_meaning(value: object) -> None:
    assert parse(json.dumps(value, ensure_ascii=False)) == [value]


def test_a_number_of_too_many_digits_is_refused_in_words() -> None:
    with pytest.raises(YamlError, match="4300 digits"):
        parse(f"a: {'9' * 5000}")
