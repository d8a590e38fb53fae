from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from loguru import logger

from dragoman_testkit.fakes.hooks import FakeManager
from dragoman_testkit.fakes.node import FakeNode


@pytest.fixture
def said() -> Iterator[list[str]]:
    """Warnings and errors of the log."""
    messages: list[str] = []
    sink = logger.add(lambda message: messages.append(message.record["message"]), level="WARNING")
    yield messages
    logger.remove(sink)


@pytest.fixture
def node_of(tmp_path: Path) -> Iterator[Callable[..., FakeNode]]:
    """Make a node with managers; it and all its later lives end with the test."""
    with ExitStack() as made:

        def make(*managers: FakeManager) -> FakeNode:
            return made.enter_context(closing(FakeNode(tmp_path, *managers)))

        yield make


@pytest.fixture
def node(node_of: Callable[..., FakeNode]) -> FakeNode:
    """A node with a manager of three dummies."""
    return node_of()
