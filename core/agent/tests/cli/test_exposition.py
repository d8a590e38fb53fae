"""The port of a controller, and clients of every kind."""

from __future__ import annotations

import http.client
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.exposition import Exposition, Metrics


def has_newer_family() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


newer_family = pytest.mark.skipif(not has_newer_family(), reason="this machine has no IPv6")


@pytest.fixture
def exposition() -> Iterator[Exposition]:
    metrics = Metrics()
    metrics.offer("a", lambda: "up 1\n")
    with Exposition(("127.0.0.1", 0), metrics, lambda: "", patience=60) as running:
        yield running


def asked(exposition: Exposition, method: str, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", exposition.port, timeout=60)
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


@pytest.mark.parametrize("reached", ["127.0.0.1", pytest.param("::1", marks=newer_family)])
def test_without_a_host_both_families_are_served(reached: str) -> None:
    with Exposition(("", 0), Metrics(), lambda: "") as running:
        socket.create_connection((reached, running.port), timeout=60).close()


@newer_family
def test_an_address_of_the_newer_family_is_served() -> None:
    with Exposition(("::1", 0), Metrics(), lambda: "") as running:
        socket.create_connection(("::1", running.port), timeout=60).close()


@pytest.mark.parametrize("odd", [7, None, "half \ud800\n", RuntimeError()], ids=["number", "none", "half", "error"])
def test_a_plugin_whose_metrics_are_none_costs_its_own_only(odd: object) -> None:
    def text() -> Any:
        if isinstance(odd, Exception):
            raise odd
        return odd

    metrics = Metrics()
    metrics.offer("a", lambda: "up 1")
    metrics.offer("b", text)
    metrics.offer("c", lambda: "down 1\n")
    metrics.offer("d", lambda: "")
    assert metrics.text() == "up 1\ndown 1\n"


def test_a_client_that_says_nothing_is_let_go() -> None:
    exposition = Exposition(("127.0.0.1", 0), Metrics(), lambda: "", patience=0.1)
    with socket.create_connection(("127.0.0.1", exposition.port), timeout=60) as silent:
        # It has said all that it says before it is served: what comes too late would be answered with a reset.
        silent.sendall(b"GET /metrics HTTP/1.1\r\n")
        with exposition:
            assert silent.recv(1) == b""


def test_a_client_that_went_away_leaves_no_traceback(exposition: Exposition, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", exposition.port), timeout=60) as hasty:
            hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            hasty.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    assert asked(exposition, "GET", "/healthz") == (200, b"ok\n")
    assert "Traceback" not in capfd.readouterr().err
