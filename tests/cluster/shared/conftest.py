"""The servers, kubelets and runtimes that have to behave alike."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from dragoman_testkit.sandbox.runtime import NriOptions
from tests.cluster import build
from tests.cluster.node import Node
from tests.cluster.shared import kubelets, runtimes
from tests.cluster.shared.embedded import embedded
from tests.cluster.shared.kubelets import Kubelet
from tests.cluster.shared.marks import Marks
from tests.cluster.shared.real import real as real_server
from tests.cluster.shared.runtimes import OLD, RealSide, Runtime, Sandbox
from tests.cluster.shared.wire import SLICES, Wire, unique


def pytest_configure(config: pytest.Config) -> None:
    """Name the mark of what older releases do otherwise than the stand-ins, which are of the newest."""
    config.addinivalue_line("markers", "since(minor, lack): the real one before 1.MINOR is left out, for that reason")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what an older release lacks, by name."""
    for item in items:
        for mark in item.iter_markers("since"):
            minor, lack = mark.args
            if build.minor() < minor and _is_real(item):
                item.add_marker(pytest.mark.skip(reason=f"before 1.{minor} {lack}"))


def _is_real(item: pytest.Item) -> bool:
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return any(str(value).startswith("real") for value in params.values())


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


@pytest.fixture(scope="session")
def old_runtime() -> Iterator[Runtime]:
    """The stand-in, speaking the NRI of the real one."""
    with runtimes.fake(OLD) as runtime:
        yield runtime


@pytest.fixture(scope="session")
def new_runtime() -> Iterator[Runtime]:
    """The stand-in, speaking the newest NRI."""
    with runtimes.fake(NriOptions()) as runtime:
        yield runtime


@pytest.fixture(scope="session")
def real_runtime() -> Iterator[RealSide]:
    """The real one, without a kubelet."""
    with runtimes.real() as runtime:
        yield runtime


@pytest.fixture(params=["old_runtime", "new_runtime", "real_runtime"])
def nri(request: pytest.FixtureRequest) -> Runtime:
    """Each of them in turn."""
    _need_root()
    found: Runtime = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def sandbox(nri: Runtime) -> Iterator[Sandbox]:
    """A sandbox from before the plugin came."""
    sandbox = nri.run()
    yield sandbox
    nri.stop(sandbox)
    nri.remove(sandbox)


@pytest.fixture(params=["stand_in_runtime", "real_runtime"])
def many(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """Those that tell their sandboxes in parts: the real one where they are too long for a message."""
    _need_root()
    if request.param == "real_runtime":
        yield request.getfixturevalue(request.param)
        return
    with runtimes.fake(NriOptions(chunk=5)) as runtime:
        yield runtime


def _need_root() -> None:
    """Network namespaces are made by the stand-in, too."""
    if os.geteuid() != 0:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("a runtime needs root")
