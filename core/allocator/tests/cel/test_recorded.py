"""Expressions with the answers of Kubernetes' own code.

``recorded.jsonl`` holds what ``k8s.io/dynamic-resource-allocation/cel`` v0.37.2 said about ``celworld.DEVICE``: the
verdict or which kind of error, and for a verdict what it cost. Half are written by hand, half came from a generator.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_allocator.cel import CompileError, EvaluationError
from dragoman_allocator.cel.devices import device_value, to_bool

from .celworld import DEVICE, DRIVER, STORED

RECORDED = [json.loads(line) for line in Path(__file__).with_name("recorded.jsonl").read_text().splitlines()]


def answer(expression: str) -> dict[str, Any]:
    try:
        value, cost = STORED.compile(expression).measured(device_value(DRIVER, DEVICE))
        return {"expression": expression, "answer": to_bool(value), "cost": cost}
    except CompileError:
        return {"expression": expression, "answer": "compileError"}
    except EvaluationError:
        return {"expression": expression, "answer": "runtimeError"}


@pytest.mark.parametrize("recorded", RECORDED, ids=[str(at) for at in range(len(RECORDED))])
def test_the_answer_and_its_cost_are_those_of_kubernetes(recorded: dict[str, Any]) -> None:
    assert answer(recorded["expression"]) == recorded
