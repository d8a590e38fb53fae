"""Lines with texts that Go takes and our decoder does not."""

from __future__ import annotations

import json

import pytest

from dragoman_allocator.batch.loop import answer


@pytest.mark.parametrize("half", [rb"\ud800", rb"\udfff", rb"\ud83d\u0041"])
def test_half_a_surrogate_pair_in_one_member_leaves_the_line_readable(half: bytes) -> None:
    line = b'{"id":"1","kind":"quantity","text":"1","note":"' + half + b'"}'
    assert json.loads(answer(line)) == json.loads(answer(line.replace(half, b"x")))


def test_half_a_surrogate_pair_is_the_replacement_character_wherever_it_stands() -> None:
    found = json.loads(answer(rb'{"id":"\ud800","kind":"quantity","text":"\udfff"}'))
    assert (found["id"], "\ufffd" in found["error"]) == ("\ufffd", True)


def test_what_is_no_json_is_refused_as_before() -> None:
    assert "the line is no JSON object" in json.loads(answer(rb'{"text":"\ud800"'))["error"]
