"""How deep a text may be nested is the same for every interpreter and caller."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.kube.reading import LEVELS, TOO_DEEP, is_cut, read

TEXTS = st.text(alphabet='[]{}"\\/a\n\u00e9\ud800')
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS, lambda some: st.lists(some) | st.dictionaries(TEXTS, some), max_leaves=20
)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def nested(levels: int, value: Any, *, text: str = "") -> Any:
    for level in range(levels):
        value = [text, value, text] if level % 2 else {"before": [], text: value, "after": {}}
    return value


@given(value=VALUES, levels=st.integers(LEVELS - 8, LEVELS + 2), text=TEXTS, in_ascii=st.booleans())
def test_it_is_cut_exactly_where_it_is_nested_more_deeply_than_is_read(
    value: Any, levels: int, text: str, in_ascii: bool
) -> None:
    whole = nested(levels, value, text=text)
    spelled = json.dumps(whole, ensure_ascii=in_ascii).encode(errors="surrogatepass")
    found = read(spelled, object)
    assert is_cut(found) is (depth(whole) > LEVELS)
    assert depth(found) <= LEVELS


def in_lists(levels: int, value: str) -> bytes:
    return b"[" * levels + value.encode() + b"]" * levels


def test_the_caller_may_be_deep_in_calls_itself() -> None:
    def called(times: int) -> Any:
        return called(times - 1) if times else read(in_lists(LEVELS, "1"), list[Any])

    assert json.dumps(called(400)).encode() == in_lists(LEVELS, "1")


@pytest.mark.parametrize("text", [b'"', b"]", b"[[", b'["]', b"}{", b"", b"\xff", b"[" * 500, b'{"a":' * 500 + b'"'])
def test_what_is_no_json_stays_an_error(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read(text, object)


def test_what_stands_for_the_rest_is_a_text_of_its_own() -> None:
    found = read(in_lists(LEVELS + 1, "1"), list[Any])
    assert json.dumps(found).encode() == in_lists(LEVELS, json.dumps(TOO_DEEP))
