"""What is wrong with a node selector, in upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.allocation import node_selectors
from dragoman_allocator.decode import decode
from dragoman_allocator.objects import NodeSelector

from .clusters import Json


def problem(*terms: Json) -> str | None:
    return node_selectors.problem(decode(NodeSelector, {"nodeSelectorTerms": list(terms)}, defaults=False))


def label(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(operator: str, *values: str) -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


GOOD = [label("a.b/c", "In", "x", ""), label("a", "Exists"), label("a", "Gt", "5"), field("NotIn", "n1"), {}]
AT = "nodeSelectorTerms[0].match"
BAD: dict[str, tuple[Json, str]] = {
    "operator of a label": (
        label("a", "Near"),
        f'{AT}Expressions[0].operator: Unsupported value: "Near": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
    ),
    "operator of a field": (
        field("Exists"),
        f'{AT}Fields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
    ),
    "no value": (
        label("a", "In"),
        f"{AT}Expressions[0].values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    ),
    "a value": (
        label("a", "Exists", "b"),
        f'{AT}Expressions[0].values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    ),
    "two fields": (
        field("In", "n1", "n2"),
        f'{AT}Fields[0].values: Invalid value: ["n1","n2"]: must have one element',
    ),
    "no number": (
        label("a", "Lt", "1.5"),
        f"{AT}Expressions[0].values[0]: Invalid value: \"1.5\": for 'Gt', 'Lt' operators, the value must be an integer",
    ),
    "nothing at all": (
        {"matchFields": [{"operator": "In"}]},
        f"{AT}Fields[0].values: Invalid value: null: must have one element",
    ),
}


@pytest.mark.parametrize(("term", "words"), BAD.values(), ids=list(BAD))
def test_a_fault_is_told_with_its_path(term: Json, words: str) -> None:
    assert problem(term) == words
    assert problem(*GOOD, term) == words.replace("[0]", f"[{len(GOOD)}]", 1)


def test_a_selector_without_faults_has_no_problem() -> None:
    assert problem(*GOOD) is None


def test_several_faults_stand_in_brackets_each_one_once() -> None:
    twice: Any = {"matchFields": [{"key": "k", "operator": "In"}]}
    both = {**label("a b", "Gt"), **twice}
    told = problem(both)
    assert told is not None
    assert told.startswith(f'[{AT}Expressions[0].key: Invalid value: "a b": name part must consist of')
    assert (
        f"{AT}Expressions[0].values: Invalid value: []: for 'Gt', 'Lt' operators, exactly one value is required" in told
    )
    assert told.endswith(f", {AT}Fields[0].values: Invalid value: null: must have one element]")


def test_a_label_value_is_named_with_its_key() -> None:
    told = problem(label("a", "In", "b", "c d"))
    assert told is not None
    assert told.startswith(f'{AT}Expressions[0].values[1][a]: Invalid value: "c d": a valid label must be')
