"""The servers and kubelets that have to behave alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.node import Node
from tests.cluster.shared import kubelets
from tests.cluster.shared.embedded import embedded
from tests.cluster.shared.kubelets import Kubelet
from tests.cluster.shared.marks import Marks
from tests.cluster.shared.real import real as real_server
from tests.cluster.shared.wire import SLICES, Wire, unique


@pytest.fixture(scope="session")
def stand_in() -> Iterator[Wire]:
    """The embedded API server."""
    with embedded() as wire:
        yield wire


@pytest.fixture(scope="session")
def real(session_node: Node) -> Iterator[Wire]:
    """The node's API server, as an administrator sees it."""
    with real_server(session_node) as wire:
        yield wire


@pytest.fixture(scope="session")
def marks(real: Wire) -> Marks:
    """A watch that lasts while other tests run."""
    return Marks(real)


@pytest.fixture(params=["embedded", "real"])
def server(request: pytest.FixtureRequest) -> Wire:
    """Each of them in turn."""
    if request.param == "real":
        request.getfixturevalue("marks")
    wire: Wire = request.getfixturevalue({"embedded": "stand_in", "real": "real"}[request.param])
    return wire


@pytest.fixture
def driver(server: Wire) -> Iterator[str]:
    """Name of a driver that nobody else uses; its slices go away with the test."""
    name = f"{unique('d')}.example.com"
    yield name
    server.ask("DELETE", SLICES, fieldSelector=f"spec.driver={name}")


@pytest.fixture(scope="session")
def stand_in_kubelet() -> Iterator[Kubelet]:
    """The stand-in."""
    with kubelets.fake() as kubelet:
        yield kubelet


@pytest.fixture(scope="session")
def real_kubelet(session_node: Node) -> Kubelet:
    """The node's."""
    return kubelets.real(session_node)


@pytest.fixture(params=["stand_in_kubelet", "real_kubelet"])
def kubelet(request: pytest.FixtureRequest) -> Kubelet:
    """Each of them in turn."""
    found: Kubelet = request.getfixturevalue(request.param)
    return found
