import json
from typing import Any

import pytest

from dragoman_allocator.batch.loop import answer


def _ask(**members: Any) -> dict[str, Any]:
    answered: dict[str, Any] = json.loads(answer(json.dumps({"id": 1, "kind": "quantity", **members}).encode()))
    assert answered.pop("id") == 1
    return answered


def test_one_text_gives_its_canonical_text_and_values() -> None:
    assert _ask(text="1024Ki") == {"canonical": "1Mi", "value": 2**20, "milliValue": 2**20 * 1000}


def test_two_texts_are_compared_added_and_subtracted_too() -> None:
    answered = _ask(text="1Gi", other="500m")
    assert (answered["cmp"], answered["add"], answered["sub"]) == (1, "1073741824500m", "1073741823500m")
    assert _ask(text="1", other="1000m")["cmp"] == 0
    assert "cmp" not in _ask(text="1", other=None)


def test_a_bare_number_is_read_as_it_is_written() -> None:
    assert json.loads(answer(b'{"kind":"quantity","text":1e3,"other":-1}')) == {
        "id": None,
        "canonical": "1e3",
        "value": 1000,
        "milliValue": 1_000_000,
        "cmp": 1,
        "add": "999",
        "sub": "1001",
    }


@pytest.mark.parametrize(
    "members", [{"text": "1K"}, {"text": "1 "}, {"text": ""}, {}, {"text": "1", "other": "x"}, {"text": "1" * 5000}]
)
def test_what_is_no_quantity_is_answered_with_an_error_of_its_own(members: dict[str, Any]) -> None:
    answered = _ask(**members)
    assert answered.keys() == {"error"}
    assert not answered["error"].startswith("input")


@pytest.mark.parametrize("text", ["1e1000000000", "-1e1000000000", "1e-1000000000"])
def test_a_huge_exponent_is_answered_at_once(text: str) -> None:
    assert _ask(text=text).keys() >= {"canonical", "value", "milliValue"}
    assert _ask(text=text, other="0")["cmp"] == (-1 if text.startswith("-") else 1)
    bare = json.loads(answer(f'{{"kind":"quantity","text":{text}}}'.encode()))
    assert bare == _ask(text=text) | {"id": None}
