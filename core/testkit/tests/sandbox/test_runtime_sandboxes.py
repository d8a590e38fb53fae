"""Sandboxes and containers of the runtime stand-in, with real namespaces and processes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from dragoman.model.sandboxes import Container, Sandbox
from dragoman.nri.plugin import NriPlugin
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.runtime import FakeRuntime, FakeSandbox, NriOptions
from dragoman_testkit.sandbox.runtime_container import CreateContainerError, FakeContainer, RunContainerError
from dragoman_testkit.sandbox.runtime_netns import PodNetwork, enter_network, unshare_network
from dragoman_testkit.sandbox.runtime_rtnetlink import Rtnetlink

pytestmark = pytest.mark.kernel


@pytest.fixture(autouse=True)
def host() -> Iterator[None]:
    """Let this test's host be a network namespace of its own."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    unshare_network()
    yield
    enter_network(before)
    os.close(before)


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[FakeRuntime]:
    async with FakeRuntime(
        nri_socket=tmp_path / "nri" / "nri.sock",
        cdi_dirs=[tmp_path / "cdi"],
        netns_dir=tmp_path / "netns",
        clock=VirtualClock(),
    ) as runtime:
        yield runtime
    assert list((tmp_path / "netns").iterdir()) == []
    assert str(tmp_path) not in mounts()
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


def mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


def own_namespace() -> str:
    return str(Path("/proc/thread-self/ns/net").readlink())


class Watcher:
    """A service that notes what the agent would see: the event, and whether the namespace is there."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bool]] = []
        self.sandboxes: list[Sandbox] = []
        self.link: str | None = None

    def note(self, name: str, sandbox: Sandbox) -> None:
        self.seen.append((name, sandbox.netns_path is not None and Path(sandbox.netns_path).exists()))

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        self.sandboxes = list(sandboxes)

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.note("run", sandbox)
        if self.link and sandbox.netns_path:
            descriptor = os.open(sandbox.netns_path, os.O_RDONLY)
            with Rtnetlink() as host:
                host.add_veth("peer0", self.link, descriptor)
            os.close(descriptor)

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.note("stop", sandbox)

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.note("remove", sandbox)

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        self.note("create", sandbox)
        return None


@pytest.fixture
async def watcher(runtime: FakeRuntime, tmp_path: Path) -> AsyncIterator[Watcher]:
    watcher = Watcher()
    plugin = NriPlugin(watcher, socket=tmp_path / "nri" / "nri.sock", name="w", idx="10", clock=VirtualClock())
    task = asyncio.ensure_future(plugin.run())
    await runtime.nri.wait_for_plugins()
    yield watcher
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def run(runtime: FakeRuntime, name: str = "web") -> FakeSandbox:
    return await runtime.run_sandbox(uid=f"uid-{name}", namespace="shop", name=name)


async def container(
    runtime: FakeRuntime, sandbox: FakeSandbox, devices: Sequence[str] = (), argv: Sequence[str] = ("sleep", "infinity")
) -> FakeContainer:
    made = await runtime.create_container(sandbox, "app", cdi_devices=devices, argv=argv)
    await runtime.start_container(made)
    return made


def write_spec(folder: Path, edits: dict[str, object]) -> str:
    folder.mkdir(exist_ok=True)
    devices = [{"name": "a", "containerEdits": edits}]
    content = {"cdiVersion": "0.3.0", "kind": "example.com/nic", "devices": devices}
    (folder / "spec.json").write_text(json.dumps(content))
    return "example.com/nic=a"


async def test_a_pod_has_a_namespace_with_lo_and_eth0(runtime: FakeRuntime) -> None:
    sandbox = await run(runtime)
    app = await container(runtime, sandbox)
    links = await app.exec("ls", "/proc/sys/net/ipv4/conf")
    assert links.split() == ["all", "default", "eth0", "lo"]
    addresses = await app.exec("cat", "/proc/net/fib_trie")
    assert sandbox.ips[0] in addresses
    assert "127.0.0.1" in addresses
    assert [name for _, name in socket.if_nameindex()] == ["lo", f"veth{sandbox.id[:8]}"]


async def test_two_pods_have_different_namespaces_and_addresses(runtime: FakeRuntime) -> None:
    first, second = await run(runtime, "a"), await run(runtime, "b")
    spaces = {(await (await container(runtime, one)).exec("readlink", "/proc/self/ns/net")) for one in (first, second)}
    assert len(spaces) == 2
    assert first.ips != second.ips


async def test_a_container_sees_a_link_of_the_plugin_from_its_first_instruction(
    runtime: FakeRuntime, watcher: Watcher
) -> None:
    watcher.link = "net1"
    app = await container(runtime, await run(runtime), argv=["cat", "/proc/net/dev"])
    assert await app.wait() == 0
    assert "net1:" in app.output()
    with Rtnetlink() as host:
        host.delete("peer0")


async def test_containerd_tells_stop_while_the_namespace_is_there(runtime: FakeRuntime, watcher: Watcher) -> None:
    sandbox = await run(runtime)
    await container(runtime, sandbox)
    await runtime.stop_sandbox(sandbox)
    assert sandbox.network
    assert not sandbox.network.exists
    await runtime.stop_sandbox(sandbox)
    await runtime.remove_sandbox(sandbox)
    assert watcher.seen == [("run", True), ("create", True), ("stop", True), ("remove", False)]


async def test_what_is_removed_without_a_stop_is_stopped_before(runtime: FakeRuntime, watcher: Watcher) -> None:
    await runtime.remove_sandbox(await run(runtime))
    assert watcher.seen == [("run", True), ("stop", True), ("remove", False)]


async def test_crio_tells_stop_when_the_namespace_is_gone(tmp_path: Path, runtime: FakeRuntime) -> None:
    watcher = Watcher()
    async with FakeRuntime(
        nri_socket=tmp_path / "crio.sock",
        cdi_dirs=[],
        netns_dir=tmp_path / "crio",
        clock=VirtualClock(),
        crio_order=True,
    ) as crio:
        plugin = NriPlugin(watcher, socket=tmp_path / "crio.sock", name="w", idx="10", clock=VirtualClock())
        task = asyncio.ensure_future(plugin.run())
        await crio.nri.wait_for_plugins()
        await crio.stop_sandbox(await run(crio))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert watcher.seen == [("run", True), ("stop", False)]


async def test_a_pod_of_the_hosts_network_has_no_namespace(runtime: FakeRuntime, watcher: Watcher) -> None:
    sandbox = await runtime.run_sandbox(uid="u", namespace="shop", name="web", host_network=True)
    app = await container(runtime, sandbox)
    assert await app.exec("readlink", "/proc/self/ns/net") == f"{own_namespace()}\n"
    assert watcher.seen == [("run", False), ("create", False)]


async def test_a_restarted_runtime_tells_the_pods_that_still_run(
    runtime: FakeRuntime, watcher: Watcher, tmp_path: Path
) -> None:
    kept, stopped, killed = await run(runtime, "kept"), await run(runtime, "stopped"), await run(runtime, "killed")
    await runtime.stop_sandbox(stopped)
    seen = list(watcher.seen)
    await runtime.kill_sandbox(killed)
    await runtime.restart()
    other = NriPlugin(watcher, socket=tmp_path / "nri" / "nri.sock", name="x", idx="20", clock=VirtualClock())
    task = asyncio.ensure_future(other.run())
    await other.wait_for(lambda state: state.synchronized)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [(sandbox.id, sandbox.netns_path) for sandbox in watcher.sandboxes] == [(kept.id, str(kept.netns_path))]
    assert watcher.seen == seen


async def test_an_unresolvable_device_keeps_the_container_from_being_created_until_its_spec_is_there(
    runtime: FakeRuntime, tmp_path: Path
) -> None:
    sandbox = await run(runtime)
    with pytest.raises(
        CreateContainerError, match=r"^CDI device injection failed: unresolvable CDI devices example\.com/nic=a$"
    ):
        await runtime.create_container(sandbox, "app", cdi_devices=["example.com/nic=a"])
    device = write_spec(tmp_path / "cdi", {"env": ["NIC=net1"]})
    app = await container(runtime, sandbox, [device])
    assert await app.exec("printenv", "NIC") == "net1\n"


async def test_a_mount_of_a_missing_file_is_refused_at_the_start(runtime: FakeRuntime, tmp_path: Path) -> None:
    mount = {"hostPath": str(tmp_path / "gone"), "containerPath": "/guard"}
    device = write_spec(tmp_path / "cdi", {"mounts": [mount]})
    made = await runtime.create_container(await run(runtime), "app", cdi_devices=[device])
    with pytest.raises(RunContainerError, match=f"open {tmp_path}/gone: no such file or directory"):
        await runtime.start_container(made)
    assert not made.running


async def test_a_guard_shows_the_pods_own_namespace_and_does_not_open_for_the_next_sandbox(
    runtime: FakeRuntime, tmp_path: Path
) -> None:
    first = await run(runtime)
    guard = {"hostPath": str(first.netns_path), "containerPath": "/run/guard", "options": ["ro", "bind"]}
    device = write_spec(tmp_path / "cdi", {"mounts": [guard]})
    app = await container(runtime, first, [device])
    inode = app.resolve("/run/guard").stat().st_ino
    assert await app.exec("readlink", "/proc/self/ns/net") == f"net:[{inode}]\n"
    await runtime.kill_sandbox(first)
    with pytest.raises(RunContainerError, match="no such file"):
        await container(runtime, await run(runtime), [device])


async def test_a_mounted_file_stays_and_a_mounted_folder_changes(runtime: FakeRuntime, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "file").write_text("old")
    mounts = [
        {"hostPath": str(folder), "containerPath": "/data"},
        {"hostPath": str(folder / "file"), "containerPath": "/data/file"},
        {"hostPath": str(folder), "containerPath": "/other"},
    ]
    app = await container(runtime, await run(runtime), [write_spec(tmp_path / "cdi", {"mounts": mounts})])
    (folder / "new").write_text("new")
    (folder / "new").rename(folder / "file")
    assert (app.read("/data/file"), app.read("/other/file")) == (b"old", b"new")
    with pytest.raises(FileNotFoundError):
        app.read("/etc/passwd")


async def test_closing_ends_all_that_runs(tmp_path: Path) -> None:
    runtime = FakeRuntime(
        nri_socket=tmp_path / "nri.sock", cdi_dirs=[], netns_dir=tmp_path / "netns", clock=VirtualClock()
    )
    await runtime.start()
    apps = [await container(runtime, await run(runtime, name)) for name in "ab"]
    assert all(app.running for app in apps)
    await runtime.close()
    assert not any(app.running for app in apps)
    assert list((tmp_path / "netns").iterdir()) == []
    assert not (tmp_path / "nri.sock").exists()


async def test_a_network_that_fails_half_way_leaves_nothing_and_touches_nothing_of_others(tmp_path: Path) -> None:
    descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    with Rtnetlink() as host:
        host.add_veth("foreign", "veth0", descriptor)
    os.close(descriptor)
    with pytest.raises(FileExistsError):
        await PodNetwork(tmp_path / "handle", "veth0", "10.0.0.1/24").create()
    assert not (tmp_path / "handle").exists()
    assert str(tmp_path) not in mounts()
    assert {name for _, name in socket.if_nameindex()} == {"lo", "foreign", "veth0"}


async def test_a_network_that_was_removed_is_not_made_again(tmp_path: Path) -> None:
    network = PodNetwork(tmp_path / "handle", "veth0", "10.0.0.1/24")
    await network.remove()
    await network.create()
    assert not network.exists
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


def test_the_defaults_are_those_of_a_current_runtime() -> None:
    assert (NriOptions().nri_version, NriOptions().valid_events) == ("v0.12.5", 0x3FFF)
    assert (NriOptions(dedicated_calls=False).nri_version, NriOptions(dedicated_calls=False).valid_events) == ("", 2047)
