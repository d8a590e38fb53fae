"""What the comparison itself rests on: worlds that can be had again, and a comparer that sees what differs."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction

import pytest

from tests.differential import compare, known, worlds
from tests.differential.programs import Program
from tests.differential.without import RULES, without
from tests.differential.worlds import spoil
from tests.differential.worlds.dice import Dice

SHARE = "00000000-0000-4000-8000-00000000000"


def allocated(device: str = "d0", **members: object) -> dict[str, object]:
    result = {"request": "r", "driver": "a", "pool": "p", "device": device} | members
    return {"results": [{"devices": {"results": [result]}}]}


@pytest.mark.parametrize("kind", worlds.KINDS)
@pytest.mark.parametrize("size", worlds.SIZES)
def test_the_name_of_a_world_decides_it(kind: str, size: str) -> None:
    made = worlds.make(kind, size, 3, 14)
    assert worlds.again(made["id"]) == made
    assert worlds.make(kind, size, 3, 15) | {"id": made["id"]} != made


def test_a_name_of_no_world_is_refused() -> None:
    with pytest.raises(ValueError, match="is no world"):
        worlds.again("nothing.small.1.1")


@pytest.mark.parametrize("rule", RULES)
def test_leaving_a_rule_out_changes_worlds_but_not_the_one_given(rule: str) -> None:
    made = [worlds.make("allocate", "mixed", 1, i) for i in range(60)]
    changed = [without(rule, one) != one for one in made]
    assert any(changed)
    assert made == [worlds.make("allocate", "mixed", 1, i) for i in range(60)]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (allocated(shareID=f"{SHARE}1"), allocated(shareID=f"{SHARE}2")),
        (allocated(consumedCapacity={"m": "1Gi"}), allocated(consumedCapacity={"m": "1024Mi"})),
        (allocated(tolerations=[]), allocated()),
        (allocated() | {"steps": 7}, allocated()),
        ({"error": "c: selector #0: CEL runtime error: one"}, {"error": "c: selector #0: CEL runtime error: other"}),
    ],
)
def test_what_may_differ_does_not_count(theirs: dict[str, object], ours: dict[str, object]) -> None:
    assert compare.differences("allocate", theirs, ours) == []


@pytest.mark.parametrize(
    ("theirs", "ours", "where"),
    [
        (allocated("d0"), allocated("d1"), "results[0].results[0].device"),
        (allocated(shareID=f"{SHARE}1"), allocated(), "results[0].results[0].shareID"),
        (allocated(shareID=f"{SHARE}1"), allocated(shareID="x"), "results[0].results[0].shareID"),
        (allocated(consumedCapacity={"m": "1Gi"}), allocated(consumedCapacity={"m": "1G"}), "consumedCapacity.m"),
        (allocated() | {"steps": 7}, allocated() | {"steps": 8}, "steps"),
        (allocated(), {"results": None}, "results"),
        ({"results": None}, {"error": "invalid", "errorOnNode": True}, "verdict"),
        ({"error": "a"}, {"error": "a", "errorOnNode": True}, "verdict"),
        ({"error": "a"}, {"error": "b"}, "error"),
    ],
)
def test_what_must_not_differ_counts(theirs: dict[str, object], ours: dict[str, object], where: str) -> None:
    assert any(one.where.endswith(where) for one in compare.differences("allocate", theirs, ours))


READ = {"1Ki": Fraction(1024), "-1500m": Fraction(-3, 2), "1e3": Fraction(1000), "2n": Fraction(2, 10**9)}


@pytest.mark.parametrize(("text", "value"), READ.items())
def test_a_quantity_is_read_as_the_number_it_is(text: str, value: Fraction) -> None:
    assert compare.amount(text) == value


def test_a_program_that_dies_is_told_and_started_anew() -> None:
    program = Program(("sh", "-c", "echo gone >&2; read line; exit 3"))
    try:
        assert program.ask({"id": 1})["error"] == "crash: gone\n"
        assert program.ask({"id": 2})["error"].startswith("crash: gone")
    finally:
        program.close()


def test_a_program_that_answers_is_asked_in_one_process() -> None:
    program = Program(("sh", "-c", 'while read -r line; do echo "{\\"pid\\": $$}"; done'))
    try:
        assert program.ask({"id": 1}) == program.ask({"id": 2})
    finally:
        program.close()


def test_a_program_that_hangs_is_given_up() -> None:
    program = Program(("sleep", "60"), limit=0.05)
    try:
        assert program.ask({"id": 1})["error"].startswith("timeout: ")
    finally:
        program.close()


def test_no_world_leaves_anything_behind_for_the_next() -> None:
    alone = worlds.make("validate", "hard", 5, 400)
    for i in range(400):
        worlds.make("validate", "hard", 5, i)
    assert worlds.make("validate", "hard", 5, 400) == alone


def test_a_search_given_up_is_a_timeout_in_the_words_of_either_kind() -> None:
    assert compare.verdict({"error": "filter operation aborted: context deadline exceeded"}) == "timeout"
    reasons = ["node n1: timed out trying to allocate devices"]
    assert compare.verdict({"filter": {"code": "Error", "reasons": reasons}}) == "timeout"
    assert compare.verdict({"filter": {"code": "Error", "reasons": ["another"]}}) == "ok"


@pytest.mark.parametrize(("steps", "is_known"), [(3_000_000, True), (2_000, False)])
def test_giving_up_explains_a_difference_only_after_millions_of_steps(steps: int, is_known: bool) -> None:
    theirs = allocated() | {"steps": steps}
    ours = {"results": None, "error": "filter operation aborted: context deadline exceeded", "errorOnNode": False}
    found = compare.differences("allocate", theirs, ours)
    assert found
    assert (known.explained({}, theirs, found) is not None) is is_known


def test_a_map_that_was_spoilt_before_can_be_spoilt_again() -> None:
    made: dict[str, object] = {"spec": {f"k{i}": {} for i in range(1, 9)}}
    for seed in range(200):
        spoil.one(Dice(f"maps {seed}"), deepcopy(made), ("spec",))
