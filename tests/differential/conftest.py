"""What needs Kubernetes' own code is collected only where it is named: ``pytest tests/differential``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential import build

HERE = Path(__file__).parent
NEEDS_IT = HERE / "test_differential.py"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the tests that take Go, and minutes to build at first, to those who ask for them."""
    named = [Path(word.split("::")[0]).resolve() for word in config.args]
    asked = any(path == HERE or HERE in path.parents for path in named)
    return True if collection_path == NEEDS_IT and not asked else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test: no test's time limit is for that."""
    if any(item.path == NEEDS_IT for item in session.items):
        build.upstream()
