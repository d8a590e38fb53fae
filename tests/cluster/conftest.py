"""One node for the session, a namespace for each test. Collected only where it is named: ``pytest tests/cluster``."""

from __future__ import annotations

import itertools
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.cluster import agent as agents
from tests.cluster import build, objects, runtime
from tests.cluster.agent import Agent
from tests.cluster.case import Case
from tests.cluster.node import Node, fresh

HERE = Path(__file__).parent
_LOGS = {"agent": 60, "controller": 30, "kubelet": 30, "containerd": 15}
"""Logs that a failure shows, and how many lines."""
_NODE = pytest.StashKey[Node]()
_NUMBERS = itertools.count(1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave this folder to those who ask for it: it needs root, and a quarter of an hour to build at first."""
    named = [Path(word.split("::")[0]).resolve() for word in config.args]
    asked = any(path == HERE or HERE in path.parents for path in named)
    return None if asked or not collection_path.name.startswith("test_") else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the time that a busy machine may take, unless it says by itself."""
    for item in items:
        if HERE in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(1200))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get what is missing before the first test: no test's time limit is for that."""
    if os.geteuid() == 0 and any(HERE in item.path.parents for item in session.items):
        build.programs()
        runtime.installed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the node's programs said at the end of it."""
    report = yield
    node = item.session.stash.get(_NODE, None)
    if report.failed and node:
        for name, lines in _LOGS.items():
            if name in node.parts:
                report.sections.append((f"log of {name}", "\n".join(node.parts[name].tail(lines))))
    return report


@pytest.fixture(scope="session")
def session_node(request: pytest.FixtureRequest) -> Iterator[Node]:
    """The node, with the agent's account and a class for each pool."""
    if os.geteuid() != 0:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("a node needs root")
    with fresh() as node:
        request.session.stash[_NODE] = node
        agents.install(node)
        for pool in agents.POOLS:
            node.api.apply(objects.device_class(pool))
        yield node
        del request.session.stash[_NODE]


@pytest.fixture(scope="session")
def session_agent(session_node: Node) -> Agent:
    """The agent, not started."""
    return Agent(session_node)


@pytest.fixture
def node(session_node: Node) -> Node:
    """The node with everything running, whatever the test before did."""
    session_node.repair()
    return session_node


@pytest.fixture
def agent(node: Node, session_agent: Agent) -> Agent:
    """The agent, ready and with the default settings."""
    session_agent.repair()
    return session_agent


@pytest.fixture
def case(node: Node, agent: Agent) -> Iterator[Case]:
    """A namespace of the test's own, on a node with a ready agent; emptied after the test."""
    case = Case(node, agent, f"test-{next(_NUMBERS)}")
    case.open()
    yield case
    node.repair()
    agent.repair()
    case.close()
