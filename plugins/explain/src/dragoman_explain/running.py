"""Runs the command: the question from its options, the answer as text or JSON, the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dragoman_explain import data, text
from dragoman_explain.question import Question, answer
from dragoman_explain.report import exit_code
from dragoman_hookspecs import Connect


def run(given: Mapping[str, Any], connect: Connect, *, output: str, nodes: int, devices: int) -> tuple[str, int]:
    """Give what is to be shown, and the exit code; JSON has all devices. Raises ``DragomanError``."""
    question = Question(**given, devices=devices if output == "text" else None)
    found = answer(question, connect, datetime.now(UTC))
    shown = text.render(found, nodes=nodes, devices=devices) if output == "text" else data.render(found)
    return shown, exit_code(found.reports)
