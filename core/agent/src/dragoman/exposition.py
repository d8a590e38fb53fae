"""The port of a controller: ``/metrics`` in the text format of Prometheus, ``/healthz`` and ``/readyz`` for probes."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from loguru import logger

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Texts of plugins by name; a plugin whose text cannot be made is left out."""

    def __init__(self) -> None:
        self._texts: dict[str, Callable[[], str]] = {}

    def offer(self, plugin: str, text: Callable[[], str]) -> None:
        """Take the function that gives a plugin's text, in place of an earlier one."""
        self._texts[plugin] = text

    def text(self) -> str:
        """Give everything."""
        return "".join(self._of(plugin, text) for plugin, text in sorted(self._texts.items()))

    @staticmethod
    def _of(plugin: str, text: Callable[[], str]) -> str:
        try:
            said = text()
            said.encode()
            return f"{said}\n" if said and not said.endswith("\n") else said
        except Exception as error:  # noqa: BLE001 - a plugin may raise or give anything, the others are still to be read
            logger.bind(plugin=plugin).warning("the metrics of {} cannot be read: {!r}", plugin, error)
            return ""


class Readiness:
    """What keeps each plugin from being ready: that it has not begun, or what it says itself."""

    def __init__(self, plugins: Iterable[str]) -> None:
        self._reasons: dict[str, Callable[[], str]] = dict.fromkeys(plugins, lambda: "it has not begun")

    def begun(self, plugin: str) -> None:
        """Take a plugin that runs as ready until it says otherwise."""
        self._reasons[plugin] = lambda: ""

    def offer(self, plugin: str, reason: Callable[[], str]) -> None:
        """Take the function that says why a plugin is not ready, or "", in place of an earlier one."""
        self._reasons[plugin] = reason

    def reasons(self) -> dict[str, str]:
        """Give the reasons of the plugins that are not ready."""
        said = {plugin: self._of(plugin, reason) for plugin, reason in self._reasons.copy().items()}
        return {plugin: reason for plugin, reason in said.items() if reason}

    @staticmethod
    def _of(plugin: str, reason: Callable[[], str]) -> str:
        try:
            return reason()
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything, the others are still to be asked
            logger.bind(plugin=plugin).warning("{} cannot say whether it is ready: {!r}", plugin, error)
            return f"it cannot say whether it is ready: {error!r}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # The five of the standard library are fewer than the scrapers and probes that come at the same moment.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note who went away before the answer, which is no fault; anything else is one of ours."""
        level = "DEBUG" if isinstance(sys.exception(), OSError) else "WARNING"
        logger.opt(exception=True).log(level, "{} got no answer", client_address)


class _Server6(_Server):
    address_family = socket.AF_INET6


def _server(address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> _Server:
    """Serve an address of either family; without a host all of both."""
    host, _ = address
    both = not host and socket.has_dualstack_ipv6()
    if not both and ":" not in host:
        return _Server(address, handler)
    server = _Server6(address, handler, bind_and_activate=False)
    try:
        if both:
            server.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.server_bind()
        server.server_activate()
    except OSError:
        server.server_close()
        raise
    return server


class Exposition:
    """Serves within ``with``. ``ready`` gives why not, or "". Raises ``OSError`` where the address is taken.

    ``patience`` is how many seconds a connection may say nothing: each one has a thread.
    """

    def __init__(
        self, address: tuple[str, int], metrics: Metrics, ready: Callable[[], str], patience: float = 10.0
    ) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = patience

            def do_GET(self) -> None:
                _answer(self, metrics, ready)

            do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that http.server gives
                logger.debug("{} {}", self.address_string(), format % args)

        self._server = _server(address, Handler)
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _answer(handler: BaseHTTPRequestHandler, metrics: Metrics, ready: Callable[[], str]) -> None:
    path = handler.path.partition("?")[0]
    reason = ready() if path == "/readyz" else ""
    if reason:
        _send(handler, HTTPStatus.SERVICE_UNAVAILABLE, f"{reason}\n")
    elif path in {"/healthz", "/readyz"}:
        _send(handler, HTTPStatus.OK, "ok\n")
    elif path == "/metrics":
        _send(handler, HTTPStatus.OK, metrics.text())
    else:
        _send(handler, HTTPStatus.NOT_FOUND, "there are /metrics, /healthz and /readyz\n")


def _send(handler: BaseHTTPRequestHandler, status: HTTPStatus, text: str) -> None:
    body = text.encode()
    handler.send_response(status)
    handler.send_header("Content-Type", TEXT)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)
