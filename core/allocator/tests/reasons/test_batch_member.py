"""The batch interface tells reasons beside its answer, and none where claims fit."""

from __future__ import annotations

import json
from typing import Any

from dragoman_allocator.batch.allocate import answer
from dragoman_allocator.batch.line import Line

from ..allocation.clusters import CLASSES, N1, Json, claim, every, held, req, slice_  # noqa: TID252 - no package here


def asked(*slices: Json, claims: list[Json], allocated: list[Json] | None = None) -> dict[str, Any]:
    question = {"node": N1, "classes": CLASSES, "slices": slices, "claims": claims, "allocatedClaims": allocated or []}
    return answer(Line(json.dumps(question).encode()))


def test_claims_that_fit_have_no_reasons() -> None:
    assert "reasons" not in asked(slice_("s", "d1"), claims=[claim(req("r"))])


def test_claims_that_do_not_fit_have_them_beside_the_steps() -> None:
    found = asked(slice_("s", "d1"), claims=[claim(req("r"))], allocated=[held("p1/d1")])
    assert (found["results"], found["steps"]) == (None, 1)
    assert found["reasons"]["text"] == (
        "request r wants 1 device of class a, none of 1 fits: 1 in use; nearest: d1: held by claim ns/held"
    )


def test_an_error_has_them_beside_its_text() -> None:
    found = asked(slice_("s", "d1", count=2), claims=[claim(every("r"))])
    assert found["error"] == found["reasons"]["error"]
    assert found["errorOnNode"] is False
    assert [each["fault"] for each in found["reasons"]["pools"]] == ["incomplete"]
