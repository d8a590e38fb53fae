"""Tables and JSON."""

from __future__ import annotations

import json

import pytest

from dragoman.cli.output import show, table


def test_columns_are_aligned_under_their_heads() -> None:
    assert table(("name", "failedFrees"), [("a", 1), ("long-name", 20)]) == [
        "NAME       FAILED FREES",
        "a          1",
        "long-name  20",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("", "-"),
        ([], "-"),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (["a", "b"], "a, b"),
        ({"a": 1}, '{"a": 1}'),
        ([{"a": "ä"}], '[{"a": "ä"}]'),
        ("a\x1b[31m\nb", "a\\x1b[31m\\nb"),
    ],
)
def test_value_in_a_table(value: object, text: str) -> None:
    assert table(("v",), [(value,)])[1] == text


def test_table_without_rows_has_its_head() -> None:
    assert table(("a", "b"), []) == ["A  B"]


def test_row_of_another_length_is_a_fault_of_the_program() -> None:
    with pytest.raises(ValueError, match="zip"):
        table(("a", "b"), [("x",)])


def test_json_keeps_names_and_types(capsys: pytest.CaptureFixture[str]) -> None:
    show(("name", "failedFrees", "pool"), [("ä", 1, None)], "json")
    assert json.loads(capsys.readouterr().out) == [{"name": "ä", "failedFrees": 1, "pool": None}]
