"""The port of a controller, and clients of every kind."""

from __future__ import annotations

import http.client
import socket
import struct
from collections.abc import Iterator

import pytest

from dragoman.exposition import Exposition, Metrics


@pytest.fixture
def exposition() -> Iterator[Exposition]:
    metrics = Metrics()
    metrics.offer("a", lambda: "up 1\n")
    with Exposition(("127.0.0.1", 0), metrics, lambda: "", patience=0.1) as running:
        yield running


def asked(exposition: Exposition, method: str, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", exposition.port, timeout=10)
    connection.request(method, path)
    answer = connection.getresponse()
    said = answer.status, answer.read()
    connection.close()
    return said


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("GET", "/metrics?name=up", (200, b"up 1\n")),
        ("HEAD", "/metrics", (200, b"")),
        ("GET", "/healthz?v", (200, b"ok\n")),
    ],
)
def test_a_query_is_no_other_path_and_head_has_no_body(
    exposition: Exposition, method: str, path: str, answer: tuple[int, bytes]
) -> None:
    assert asked(exposition, method, path) == answer


def test_a_client_that_says_nothing_is_let_go(exposition: Exposition) -> None:
    with socket.create_connection(("127.0.0.1", exposition.port), timeout=10) as silent:
        silent.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert silent.recv(1) == b""


def test_a_client_that_went_away_leaves_no_traceback(exposition: Exposition, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", exposition.port), timeout=10) as hasty:
            hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            hasty.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    assert asked(exposition, "GET", "/healthz") == (200, b"ok\n")
    assert "Traceback" not in capfd.readouterr().err
