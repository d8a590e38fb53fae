"""``dragoman controller``: controllers of plugins, run against the embedded API server, with their port."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman.cli.controller import Address
from dragoman.cli.main import main
from dragoman.controllers import ControllerHost, NoControllers, NotServed
from dragoman.exposition import Readiness
from dragoman.kube.access import Access
from dragoman.plugins import PluginSet, contexts
from dragoman.plugins.loading import load_descriptors
from dragoman.plugins.sections import Sections
from dragoman_hookspecs import Context, Controller, NoSettings, RunController, hookimpl
from dragoman_testkit.sandbox.apiserver import ApiServer

NODES = "/api/v1/nodes"


class Labels:
    """Gives every node a label, and counts the nodes that it saw."""

    def __init__(self, context: Context, settings: Any) -> None:
        self.seen = 0
        self.runs = 0
        self.failures = 0
        self.unready: str | Exception = ""
        self.ended = threading.Event()

    @hookimpl
    def run_controller(self, request: RunController) -> None:
        """Label nodes until stopped."""
        self.runs += 1
        request.metrics(lambda: f"nodes_seen {self.seen}\n")
        request.ready(self._unready)
        if self.runs <= self.failures:
            raise RuntimeError("not yet")

        def changed(type_: str, node: dict[str, Any]) -> None:
            if type_ == "ADDED":
                self.seen += 1
                node["metadata"]["labels"] = {"seen": "yes"}
                request.cluster.update(f"{NODES}/{node['metadata']['name']}", node)

        request.cluster.watch(NODES, changed, request.stopped)
        self.ended.set()

    def _unready(self) -> str:
        if isinstance(self.unready, Exception):
            raise self.unready
        return self.unready


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as running:
        yield running


def plugins(folder: Path, made: list[Labels], section: dict[str, Any] | None = None) -> PluginSet:
    def create(context: Context, settings: Any) -> Labels:
        made.append(Labels(context, settings))
        return made[-1]

    descriptor = Controller(settings_key="labels", settings=NoSettings, create=create)
    base = Context(node_name="", driver_name="net.dragoman.dev", state_dir=folder, cdi_dir=folder)
    sections = Sections(managers={}, others={"labels": section} if section else {})
    return load_descriptors([("labels", descriptor)], sections, context=contexts(base))


@asynccontextmanager
async def running(host: ControllerHost) -> AsyncIterator[None]:
    stopped = asyncio.Event()
    task = asyncio.create_task(host.run(stopped))
    try:
        yield
    finally:
        stopped.set()
        await task


def labelled(server: ApiServer) -> list[str]:
    return [node["metadata"]["name"] for node in server.list("nodes") if node["metadata"].get("labels")]


async def read(host: ControllerHost, path: str) -> tuple[int, str]:
    def get() -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{host.port}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(get)


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


async def test_a_controller_follows_the_cluster_until_the_host_is_stopped(server: ApiServer, tmp_path: Path) -> None:
    made: list[Labels] = []
    server.create(node("n1"))
    host = ControllerHost(plugins(tmp_path, made), Access(server=server.url), listen=("127.0.0.1", 0))
    async with running(host):
        await server.until(lambda: labelled(server) == ["n1"])
        server.create(node("n2"))
        await server.until(lambda: labelled(server) == ["n1", "n2"])
        assert await read(host, "/metrics") == (200, "nodes_seen 2\n")
        assert [(await read(host, path))[0] for path in ("/healthz", "/readyz", "/other")] == [200, 200, 404]
    assert await asyncio.to_thread(made[0].ended.wait, 60)


async def test_a_controller_that_fails_is_begun_again(server: ApiServer, tmp_path: Path) -> None:
    made: list[Labels] = []
    server.create(node("n1"))
    chosen = plugins(tmp_path, made)
    made[0].failures = 1
    async with running(ControllerHost(chosen, Access(server=server.url), listen=None)):
        await server.until(lambda: labelled(server) == ["n1"])
    assert made[0].runs == 2


async def test_while_a_controller_waits_to_be_begun_again_it_is_not_ready_and_says_why(
    server: ApiServer, tmp_path: Path
) -> None:
    made: list[Labels] = []
    chosen = plugins(tmp_path, made)
    made[0].failures = 100
    host = ControllerHost(chosen, Access(server=server.url), listen=("127.0.0.1", 0))
    async with running(host), asyncio.timeout(60):
        answer = 200, ""
        # It may be asked before the thread of the controller has begun.
        while answer[0] == 200 or "has not begun" in answer[1]:
            await asyncio.sleep(0)
            answer = await read(host, "/readyz") if host.port is not None else answer
    assert answer == (503, "labels: run_controller raised RuntimeError: not yet\n")


async def test_a_controller_is_ready_when_it_says_so_itself(server: ApiServer, tmp_path: Path) -> None:
    made: list[Labels] = []
    chosen = plugins(tmp_path, made)
    made[0].unready = "lists are read"
    server.create(node("n1"))
    host = ControllerHost(chosen, Access(server=server.url), listen=("127.0.0.1", 0))
    async with running(host):
        await server.until(lambda: labelled(server) == ["n1"])
        assert await read(host, "/readyz") == (503, "labels: lists are read\n")
        assert (await read(host, "/healthz"))[0] == 200
        made[0].unready = RuntimeError("lost")
        assert await read(host, "/readyz") == (503, "labels: it cannot say whether it is ready: RuntimeError('lost')\n")
        made[0].unready = ""
        assert await read(host, "/readyz") == (200, "ok\n")


def test_a_controller_that_has_not_begun_is_not_ready() -> None:
    readiness = Readiness(["labels"])
    assert readiness.reasons() == {"labels": "it has not begun"}
    readiness.begun("labels")
    assert readiness.reasons() == {}


async def test_an_address_that_another_has_is_told_with_its_port(server: ApiServer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        host = ControllerHost(plugins(tmp_path, []), Access(server=server.url), listen=("127.0.0.1", port))
        with pytest.raises(NotServed, match=rf"port {port} of 127\.0\.0\.1 cannot be served: "):
            await host.run(asyncio.Event())


def test_without_a_controller_that_is_enabled_there_is_nothing_to_run(tmp_path: Path) -> None:
    off = plugins(tmp_path, [], {"enabled": False})
    with pytest.raises(NoControllers, match=r"pluginConfigs\.labels\.enabled is false"):
        ControllerHost(off, Access(server="http://127.0.0.1:1"), listen=None)


@pytest.mark.parametrize(
    ("text", "address"),
    [(":8080", ("", 8080)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:99", ("::1", 99)), ("off", None)],
)
def test_an_address_is_a_host_and_a_port_or_off(text: str, address: tuple[str, int] | None) -> None:
    assert Address().convert(text, None, None) == address


@pytest.mark.parametrize("text", ["8080", "localhost:", "host:port", ":99999", ":²"])
def test_what_is_no_address_is_refused(text: str) -> None:
    result = CliRunner().invoke(main, ["controller", "--listen", text])
    assert result.exit_code == 2
    assert "is neither HOST:PORT nor off" in result.output
