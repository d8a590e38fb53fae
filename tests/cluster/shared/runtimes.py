"""The runtimes that have to behave alike: the stand-in in a thread, and containerd by itself on a node."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import json
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dragoman.clock import SystemClock
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.runtime import FakeRuntime, FakeSandbox, NriOptions, SandboxError
from dragoman_testkit.sandbox.runtime_container import CreateContainerError, FakeContainer
from dragoman_testkit.sandbox.runtime_netns import unshare_network
from tests.cluster import parts, runtime
from tests.cluster.node import Node, fresh_disk
from tests.cluster.shared.cri import Cri, Refused
from tests.cluster.shared.wire import unique

T = TypeVar("T")

NAMESPACE = "suite"
OLD = NriOptions(dedicated_calls=False, knows_failure_policy=False, runtime_name="containerd", runtime_version="v2.1.9")
"""NRI 0.8, which containerd 2.1 speaks."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox that runs, or ran. ``config`` is how it was asked for."""

    id: str
    uid: str
    name: str
    config: JsonObject


class Runtime(abc.ABC):
    """``socket``: of NRI. ``options``: the NRI that it speaks. What it refuses raises ``Refused``."""

    socket: Path
    options: NriOptions

    @abc.abstractmethod
    def run(self, annotations: Mapping[str, str] | None = None, *, host_network: bool = False) -> Sandbox:
        """Make a sandbox of a new pod."""

    @abc.abstractmethod
    def stop(self, sandbox: Sandbox) -> None:
        """Stop it."""

    @abc.abstractmethod
    def remove(self, sandbox: Sandbox) -> None:
        """Remove it."""

    @abc.abstractmethod
    def create(self, sandbox: Sandbox, name: str = "app") -> str:
        """Create a container in it, and give its id."""

    @abc.abstractmethod
    def start(self, container: str) -> None:
        """Start it."""

    @abc.abstractmethod
    def variables(self, container: str) -> dict[str, str]:
        """Give a container's environment."""

    @abc.abstractmethod
    def restart(self) -> None:
        """Have it end and come back, with its pods running."""

    @abc.abstractmethod
    def place(self, path: str) -> Path:
        """Give the path under which this process finds one of the runtime's."""


class FakeSide(Runtime):
    """The stand-in, which lives in ``loop``."""

    def __init__(self, runtime: FakeRuntime, socket: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.socket = socket
        self.options = runtime.options
        self._runtime = runtime
        self._loop = loop
        self._sandboxes: dict[str, FakeSandbox] = {}
        self._containers: dict[str, FakeContainer] = {}

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Have it do something, and give what comes of it."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)
        except (SandboxError, CreateContainerError) as error:
            raise Refused(str(error)) from error

    def run(self, annotations: Mapping[str, str] | None = None, *, host_network: bool = False) -> Sandbox:
        name = unique("pod")
        made = self.wait(
            self._runtime.run_sandbox(
                uid=f"uid-{name}",
                namespace=NAMESPACE,
                name=name,
                annotations=annotations or {},
                host_network=host_network,
            )
        )
        self._sandboxes[made.id] = made
        return Sandbox(made.id, made.uid, name, {})

    def stop(self, sandbox: Sandbox) -> None:
        self.wait(self._runtime.stop_sandbox(self._sandboxes[sandbox.id]))

    def remove(self, sandbox: Sandbox) -> None:
        self.wait(self._runtime.remove_sandbox(self._sandboxes[sandbox.id]))

    def create(self, sandbox: Sandbox, name: str = "app") -> str:
        made = self.wait(self._runtime.create_container(self._sandboxes[sandbox.id], name))
        self._containers[made.id] = made
        return made.id

    def start(self, container: str) -> None:
        self.wait(self._runtime.start_container(self._containers[container]))

    def variables(self, container: str) -> dict[str, str]:
        return dict(self._containers[container].env)

    def restart(self) -> None:
        self.wait(self._runtime.restart())

    def place(self, path: str) -> Path:
        return Path(path)


class RealSide(Runtime):
    """containerd on a node of its own."""

    options = OLD

    def __init__(self, node: Node) -> None:
        self.node = node
        self.socket = node.spaces.path("/run/nri/nri.sock")
        self._cri = Cri(node.spaces.path("/run/containerd/containerd.sock"), f"/{node.cgroup}")

    def close(self) -> None:
        """Close the connection."""
        self._cri.close()

    def run(self, annotations: Mapping[str, str] | None = None, *, host_network: bool = False) -> Sandbox:
        name = unique("pod")
        config = self._cri.config(f"uid-{name}", NAMESPACE, name, annotations or {}, host=host_network)
        return Sandbox(self._cri.run_sandbox(config), f"uid-{name}", name, config)

    def stop(self, sandbox: Sandbox) -> None:
        self._cri.stop_sandbox(sandbox.id)

    def remove(self, sandbox: Sandbox) -> None:
        self._cri.remove_sandbox(sandbox.id)

    def create(self, sandbox: Sandbox, name: str = "app") -> str:
        return self._cri.create_container(sandbox.id, name, sandbox.config)

    def start(self, container: str) -> None:
        self._cri.start_container(container)

    def variables(self, container: str) -> dict[str, str]:
        spec = json.loads(self.node.ctr("containers", "info", "--spec", container))
        return dict(each.split("=", 1) for each in spec["process"]["env"])

    def restart(self) -> None:
        self.node.parts["containerd"].end()
        self.node.parts["containerd"].start(self.node.spaces)

    def place(self, path: str) -> Path:
        # A link of the node's that begins with a slash would be followed to this machine's.
        return self.node.spaces.path(path.removeprefix("/var"))


@contextlib.contextmanager
def fake(options: NriOptions) -> Iterator[Runtime]:
    """Give the stand-in, in a thread whose network is its own."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    def live() -> None:
        unshare_network()
        ready.set()
        loop.run_forever()

    thread = threading.Thread(target=live, name="runtime")
    thread.start()
    ready.wait()
    with tempfile.TemporaryDirectory(prefix="runtime-", dir="/tmp") as folder:
        socket, netns = Path(folder, "nri.sock"), Path(folder, "netns")
        made = FakeRuntime(nri_socket=socket, cdi_dirs=[], netns_dir=netns, clock=SystemClock(), options=options)
        side = FakeSide(made, socket, loop)
        try:
            side.wait(made.start())
            yield side
            side.wait(made.close())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


@contextlib.contextmanager
def real() -> Iterator[RealSide]:
    """Give containerd, on a node with nothing else."""
    with fresh_disk() as disk:
        node = Node(disk, programs=("containerd",))
        try:
            parts.write_files(disk, runtime.installed(), f"/{node.cgroup}")
            node.boot()
            node.ctr("images", "import", runtime.installed() / "image.tar")
            side = RealSide(node)
            yield side
            side.close()
        finally:
            node.stop()
