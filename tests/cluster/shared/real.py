"""The node's API server, asked as the embedded one is."""

from __future__ import annotations

import contextlib
import http.client
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from tests.cluster import files, parts
from tests.cluster.node import Node
from tests.cluster.shared.wire import Wire


@contextlib.contextmanager
def real(node: Node, token: str = "admin") -> Iterator[Wire]:
    """Give the API server as who holds the token sees it. What its caches hold begins with its start."""

    def connect() -> http.client.HTTPConnection:
        host = urlsplit(files.SERVER)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(parts.authority(node.disk))
        connection = http.client.HTTPSConnection(host.hostname or "", host.port, timeout=60, context=context)
        with node.spaces.network():
            connection.connect()
        return connection

    def restart() -> None:
        node.parts["kube-apiserver"].end()
        node.parts["kube-apiserver"].start(node.spaces)

    wire = Wire(connect, forget=restart, headers={"Authorization": f"Bearer {token}"})
    try:
        yield wire
    finally:
        wire.close()
