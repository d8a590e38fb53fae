"""The page of failures in the field names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).resolve().parents[2]
PAGE = (WORKSPACE / "docs" / "field-failures.md").read_text("utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("| [")]


def held_by(line: str) -> list[str]:
    return re.findall(r"`([^`]+\.py::test_\w+)`", line)


def test_each_report_is_linked_and_held_by_a_test() -> None:
    assert len(LINES) > 40
    for line in LINES:
        assert re.search(r"\(https://github\.com/[\w.-]+/[\w.-]+/issues/\d+\)", line), line
        assert held_by(line), line


@pytest.mark.parametrize("test", sorted({test for line in LINES for test in held_by(line)}))
def test_a_test_that_the_page_names_exists(test: str) -> None:
    path, _, name = test.partition("::")
    tree = ast.parse((WORKSPACE / path).read_text("utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    assert name in {function.name for function in functions}
