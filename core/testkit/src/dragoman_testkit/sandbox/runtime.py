"""A container runtime to test against: real network namespaces, real NRI bytes, CDI devices that must resolve.

It does what a kubelet may ask of containerd, in containerd's order (or CRI-O's), and fails where and how these fail.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from dragoman.clock import Clock
from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.ttrpc import CallError
from dragoman_testkit.sandbox.cdi import CdiRegistry, Edits, Unresolvable
from dragoman_testkit.sandbox.runtime_container import CreateContainerError, FakeContainer
from dragoman_testkit.sandbox.runtime_netns import PodNetwork
from dragoman_testkit.sandbox.runtime_nri import NriEnd, NriOptions

__all__ = ["FakeRuntime", "FakeSandbox", "NriOptions", "SandboxError"]


class SandboxError(Exception):
    """The sandbox could not be made; the kubelet tries again with another."""


@dataclass(slots=True, eq=False)
class FakeSandbox:
    """A pod sandbox. ``network`` is None for a pod in the host's network."""

    id: str
    uid: str
    namespace: str
    name: str
    annotations: Mapping[str, str]
    network: PodNetwork | None
    ips: tuple[str, ...]
    ready: bool = False
    stopped: bool = False
    containers: list[FakeContainer] = field(default_factory=list)

    @property
    def netns_path(self) -> Path | None:
        """Give the handle of its network namespace, whether or not it is still there."""
        return self.network.path if self.network else None

    def message(self, *, with_netns: bool) -> pb.PodSandbox:
        """Give it as NRI tells it."""
        spaces = [pb.LinuxNamespace(type="ipc"), pb.LinuxNamespace(type="uts")]
        if self.network and with_netns:
            spaces.append(pb.LinuxNamespace(type="network", path=str(self.network.path)))
        return pb.PodSandbox(
            id=self.id,
            name=self.name,
            uid=self.uid,
            namespace=self.namespace,
            annotations=self.annotations,
            linux=pb.LinuxPodSandbox(namespaces=spaces),
            ips=self.ips,
            pid=1 if self.ready else 0,  # what matters is that it has one
        )


class FakeRuntime:
    """The runtime of one node; an async context manager. What it made is gone when it is closed.

    ``crio_order``: the network namespace is gone before plugins are told that the sandbox stops. ``nri`` is its NRI
    side: ``stop`` and ``start`` it to be without NRI for a while.
    """

    def __init__(
        self,
        *,
        nri_socket: Path,
        cdi_dirs: Sequence[Path],
        netns_dir: Path,
        clock: Clock,
        options: NriOptions | None = None,
        crio_order: bool = False,
    ) -> None:
        self.sandboxes: dict[str, FakeSandbox] = {}
        self.cdi = CdiRegistry(cdi_dirs)
        self.options = options or NriOptions()
        self.nri = NriEnd(nri_socket, self.options, clock, self._pods, self._containers)
        self.crio_order = crio_order
        self._netns_dir = netns_dir
        self._numbers = itertools.count(2)

    async def __aenter__(self) -> FakeRuntime:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Listen for plugins."""
        self._netns_dir.mkdir(parents=True, exist_ok=True)
        await self.nri.start()

    async def close(self) -> None:
        """End everything: plugins' connections, processes, namespaces. No plugin is told."""
        await self.nri.stop()
        await asyncio.gather(*map(self._discard, tuple(self.sandboxes.values())))

    async def restart(self) -> None:
        """End and come back; pods go on running, and plugins that return are told of them."""
        await self.nri.stop()
        await self.nri.start()

    async def run_sandbox(
        self,
        *,
        uid: str,
        namespace: str,
        name: str,
        annotations: Mapping[str, str] | None = None,
        host_network: bool = False,
    ) -> FakeSandbox:
        """Make a sandbox: network first, then plugins are told. Raises ``SandboxError`` if one of them refuses."""
        sandbox = self._new_sandbox(uid, namespace, name, annotations or {}, host_network=host_network)
        self.sandboxes[sandbox.id] = sandbox
        try:
            if sandbox.network:
                await sandbox.network.create()
            await self.nri.happen(pb.RUN_POD_SANDBOX, sandbox.message(with_netns=True))
        except CallError as error:
            await self.stop_sandbox(sandbox)
            await self.remove_sandbox(sandbox)
            raise SandboxError(f"NRI RunPodSandbox failed: {_go_text(error)}") from error
        except BaseException:
            await self._discard(sandbox)
            raise
        sandbox.ready = True
        return sandbox

    async def stop_sandbox(self, sandbox: FakeSandbox) -> None:
        """Stop it: containers, then plugins are told, then the network goes. Again is nothing, but for CRI-O."""
        if sandbox.stopped and not self.crio_order:
            return
        sandbox.ready, sandbox.stopped = False, True
        await _stop_containers(sandbox)
        if self.crio_order and sandbox.network:
            # CRI-O goes on telling the path that it has just removed.
            await sandbox.network.remove()
        await self._tell(pb.STOP_POD_SANDBOX, sandbox, with_netns=self.crio_order or _network_lives(sandbox))
        if sandbox.network:
            await sandbox.network.remove()

    async def remove_sandbox(self, sandbox: FakeSandbox) -> None:
        """Remove it, and stop it before where it was not; plugins are told, and see no network any more."""
        if not sandbox.stopped:
            await self.stop_sandbox(sandbox)
        await self._discard(sandbox)
        await self._tell(pb.REMOVE_POD_SANDBOX, sandbox, with_netns=False)

    async def kill_sandbox(self, sandbox: FakeSandbox) -> None:
        """Let it die with its network and without telling anybody."""
        sandbox.ready = False
        await self._discard(sandbox)

    async def create_container(
        self,
        sandbox: FakeSandbox,
        name: str,
        *,
        cdi_devices: Sequence[str] = (),
        argv: Sequence[str] = ("sleep", "infinity"),
    ) -> FakeContainer:
        """Create a container: CDI devices first, then plugins are asked. Raises ``CreateContainerError``."""
        edits = self._edits(cdi_devices)
        container_id = uuid.uuid4().hex
        message = pb.Container(id=container_id, pod_sandbox_id=sandbox.id, name=name)
        try:
            pod = sandbox.message(with_netns=_network_lives(sandbox))
            edits.env |= await self.nri.create_container(pod, message)
        except CallError as error:
            raise CreateContainerError(f"failed to get NRI adjustment for container: {_go_text(error)}") from error
        container = FakeContainer(container_id, name, argv, edits, sandbox.netns_path)
        sandbox.containers.append(container)
        return container

    async def start_container(self, container: FakeContainer) -> None:
        """Start its process. Raises ``RunContainerError`` if what it mounts is not there."""
        await container.start()

    def _edits(self, cdi_devices: Sequence[str]) -> Edits:
        try:
            edits = self.cdi.resolve(cdi_devices)
        except Unresolvable as error:
            raise CreateContainerError(f"CDI device injection failed: {error}") from error
        for host_path in edits.device_nodes.values():
            if not Path(host_path).exists():
                raise CreateContainerError(f"CDI device injection failed: no such file or directory: {host_path}")
        return edits

    def _new_sandbox(
        self, uid: str, namespace: str, name: str, annotations: Mapping[str, str], *, host_network: bool
    ) -> FakeSandbox:
        sandbox_id = uuid.uuid4().hex
        if host_network:
            return FakeSandbox(sandbox_id, uid, namespace, name, annotations, None, ("127.0.0.1",))
        number = next(self._numbers)
        address = f"10.244.{number // 256 % 256}.{number % 256}"
        path = self._netns_dir / f"cni-{uuid.uuid4()}"
        network = PodNetwork(path, f"veth{sandbox_id[:8]}", f"{address}/16")
        return FakeSandbox(sandbox_id, uid, namespace, name, annotations, network, (address,))

    def _pods(self) -> list[pb.PodSandbox]:
        """Give what is listed: also what was stopped, until it is removed."""
        return [each.message(with_netns=True) for each in self.sandboxes.values() if each.ready or each.stopped]

    def _containers(self) -> list[pb.Container]:
        return [
            pb.Container(id=each.id, pod_sandbox_id=sandbox.id, name=each.name, pid=each.pid or 0)
            for sandbox in self.sandboxes.values()
            for each in sandbox.containers
        ]

    async def _tell(self, event: int, sandbox: FakeSandbox, *, with_netns: bool) -> None:
        """Tell plugins what happens anyway: containerd logs the error of one and goes on."""
        try:
            await self.nri.happen(event, sandbox.message(with_netns=with_netns))
        except CallError as error:
            self.nri.dropped.append(f"ignored: {error}")

    async def _discard(self, sandbox: FakeSandbox) -> None:
        await _stop_containers(sandbox)
        if sandbox.network:
            await sandbox.network.remove()
        self.sandboxes.pop(sandbox.id, None)


async def _stop_containers(sandbox: FakeSandbox) -> None:
    while sandbox.containers:
        await sandbox.containers.pop().stop()


def _network_lives(sandbox: FakeSandbox) -> bool:
    return sandbox.network is not None and sandbox.network.exists


def _go_text(error: CallError) -> str:
    names = {2: "Unknown", 12: "Unimplemented", 13: "Internal"}
    return f"rpc error: code = {names.get(error.code, error.code)} desc = {error}"
