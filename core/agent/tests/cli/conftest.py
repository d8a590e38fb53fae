"""Each command sets up logging; the other tests of the run get theirs back."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from loguru import logger


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root, plugins = logging.getLogger(), logging.getLogger("dragoman.plugin")
    handlers, level, plugin_level = root.handlers[:], root.level, plugins.level
    yield
    logger.remove()
    root.handlers[:] = handlers
    root.setLevel(level)
    plugins.setLevel(plugin_level)
