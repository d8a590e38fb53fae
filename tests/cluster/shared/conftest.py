"""The servers that have to behave alike."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.cluster import files, parts
from tests.cluster.node import Node
from tests.cluster.shared.embedded import embedded
from tests.cluster.shared.marks import Marks
from tests.cluster.shared.wire import SLICES, Wire, unique


@pytest.fixture(scope="session")
def stand_in() -> Iterator[Wire]:
    """The embedded API server."""
    with embedded() as wire:
        yield wire


@pytest.fixture(scope="session")
def real(session_node: Node) -> Iterator[Wire]:
    """The node's API server, as an administrator sees it."""

    def connect() -> http.client.HTTPConnection:
        host = urlsplit(files.SERVER)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(parts.authority(session_node.disk))
        connection = http.client.HTTPSConnection(host.hostname or "", host.port, timeout=30, context=context)
        with session_node.spaces.network():
            connection.connect()
        return connection

    def restart() -> None:
        # What its caches hold begins with its start.
        session_node.parts["kube-apiserver"].end()
        session_node.parts["kube-apiserver"].start(session_node.spaces)

    wire = Wire(connect, forget=restart).as_bearer("admin")
    yield wire
    wire.close()


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
