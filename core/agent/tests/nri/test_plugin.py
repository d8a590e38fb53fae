"""The agent as a plugin over a real socket, against the runtime stand-in's NRI side."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from dragoman.model.sandboxes import Container, Sandbox
from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.mux import frames
from dragoman.nri.plugin import NriPlugin
from dragoman.nri.state import NriState
from dragoman.nri.ttrpc import CallError
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.runtime_nri import NriEnd, NriOptions
from dragoman_testkit.sandbox.streams import listening

POD = pb.PodSandbox(id="s1", name="web", uid="u1", namespace="shop", pid=7)
OLD = NriOptions(dedicated_calls=False, knows_failure_policy=False)


class Service:
    """Notes what it is asked; ``gate`` holds what runs a sandbox."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.gate: asyncio.Event | None = None
        self.refusal: str | None = None

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        self.seen.append("sync " + ",".join(sandbox.id for sandbox in sandboxes))

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.seen.append(f"run {sandbox.id}")
        if self.gate:
            await self.gate.wait()

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.seen.append(f"stop {sandbox.id}")

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.seen.append(f"remove {sandbox.id}")

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        return self.refusal


class Node:
    """A runtime's NRI side and the agent at it, in virtual time."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "nri.sock"
        self.clock = VirtualClock()
        self.service = Service()
        self.pods: list[pb.PodSandbox] = []
        self.plugin = NriPlugin(self.service, socket=self.socket, name="dragoman", idx="42", clock=self.clock)

    def runtime(self, options: NriOptions | None = None) -> NriEnd:
        return NriEnd(self.socket, options or NriOptions(), self.clock, lambda: self.pods)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.ensure_future(self.plugin.run())
        try:
            yield task
        finally:
            task.cancel()
            await self.pass_time_until(task.done)
            with suppress(asyncio.CancelledError):
                await task

    async def pass_time_until(self, done: Callable[[], bool]) -> None:
        for _ in range(1000):
            if done():
                return
            await self.clock.advance(0.1)
        raise AssertionError(f"it never came to that; state is {self.plugin.state}")

    async def reach(self, wanted: Callable[[NriState], bool]) -> NriState:
        await self.pass_time_until(lambda: wanted(self.plugin.state))
        return self.plugin.state

    async def finish(self, work: Awaitable[object]) -> None:
        task = asyncio.ensure_future(work)
        await self.pass_time_until(task.done)
        task.result()


def connected(state: NriState) -> bool:
    return state.connected


def synchronized(state: NriState) -> bool:
    return state.synchronized


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    node = Node(tmp_path)
    yield node
    await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert left == set(), "tasks were left behind"


@asynccontextmanager
async def serving(end: NriEnd) -> AsyncIterator[NriEnd]:
    await end.start()
    try:
        yield end
    finally:
        await end.stop()


@pytest.mark.parametrize("options", [NriOptions(), OLD], ids=["calls", "state-change"])
async def test_sandboxes_are_told_in_both_styles(node: Node, options: NriOptions) -> None:
    async with serving(node.runtime(options)) as runtime, node.running():
        state = await node.reach(synchronized)
        assert (state.runtime_name, state.runtime_version) == ("dragoman-sandbox", "v2.3.0")
        assert (state.nri_version, state.reason) == (options.nri_version, "")
        assert runtime.plugins == ["42-dragoman"]
        for event in (pb.RUN_POD_SANDBOX, pb.STOP_POD_SANDBOX, pb.REMOVE_POD_SANDBOX):
            await node.finish(runtime.happen(event, POD))
        await node.finish(runtime.create_container(POD, pb.Container(id="c", name="app")))
        assert node.service.seen == ["sync ", "run s1", "stop s1", "remove s1"]
        assert runtime.dropped == []


async def test_running_pods_come_in_parts_and_are_synchronized_together(node: Node) -> None:
    node.pods = [pb.PodSandbox(id=f"s{number}", name="x" * 20_000, pid=7) for number in range(5)]
    async with serving(node.runtime(NriOptions(chunk=2))), node.running():
        await node.reach(synchronized)
        assert node.service.seen == ["sync s0,s1,s2,s3,s4"]


async def test_a_container_of_a_pod_that_is_not_attached_is_refused(node: Node) -> None:
    node.service.refusal = "pod shop/web: nic0 is not attached"
    async with serving(node.runtime()) as runtime, node.running():
        await node.reach(connected)
        with pytest.raises(CallError, match="nic0 is not attached"):
            await node.finish(runtime.create_container(POD, pb.Container(id="c", name="app")))
        assert runtime.plugins == ["42-dragoman"]


@pytest.mark.parametrize("options", [NriOptions(), OLD], ids=["calls", "state-change"])
async def test_a_hanging_attach_costs_neither_the_pod_nor_the_connection(node: Node, options: NriOptions) -> None:
    node.service.gate = asyncio.Event()
    async with serving(node.runtime(options)) as runtime, node.running():
        await node.reach(connected)
        await node.finish(runtime.happen(pb.RUN_POD_SANDBOX, POD))
        assert (runtime.plugins, runtime.dropped) == (["42-dragoman"], [])
        with pytest.raises(CallError, match="pod shop/web"):
            await node.finish(runtime.create_container(POD, pb.Container(id="c", name="app")))
        node.service.gate.set()
        await node.clock.settle()
        await node.finish(runtime.create_container(POD, pb.Container(id="c", name="app")))


async def test_no_socket_is_a_state_with_its_reason_until_the_runtime_comes(node: Node) -> None:
    async with node.running():
        state = await node.reach(lambda state: "no NRI socket" in state.reason)
        assert state.reason == f"no NRI socket at {node.socket}: enable NRI in the runtime"
        since = state.since
        await node.clock.advance(60)
        assert node.plugin.state.since == since
        async with serving(node.runtime()):
            assert (await node.reach(connected)).since > since


async def test_a_socket_that_nobody_serves_is_a_state_with_its_reason(node: Node) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(node.socket))
    async with node.running():
        await node.reach(lambda state: state.reason.startswith("nobody answers at the NRI socket"))
        async with serving(node.runtime()):
            await node.reach(connected)


async def test_a_restarted_runtime_gets_the_plugin_back_and_tells_its_pods(node: Node) -> None:
    async with serving(node.runtime()) as runtime, node.running():
        await node.reach(synchronized)
        node.pods = [POD]
        await runtime.stop()
        assert (await node.reach(lambda state: not state.connected)).reason
        await runtime.start()
        await node.reach(synchronized)
        assert node.service.seen == ["sync ", "sync s1"]


async def test_a_runtime_that_forgot_the_plugin_without_a_word_is_registered_with_again(node: Node) -> None:
    async with serving(node.runtime()) as runtime, node.running():
        await node.reach(synchronized)
        await node.clock.advance(200)
        assert node.service.seen == ["sync "], "a runtime that answers is not left"
        node.pods = [POD]
        await runtime.forget_plugins()
        assert "gave no answer" in (await node.reach(lambda state: not state.connected)).reason
        await node.reach(synchronized)
        assert runtime.plugins == ["42-dragoman"]
        assert node.service.seen == ["sync ", "sync s1"]


async def test_a_pod_that_started_while_no_plugin_was_registered_is_told_on_registration(node: Node) -> None:
    async with serving(node.runtime()) as runtime:
        await runtime.happen(pb.RUN_POD_SANDBOX, POD)
        node.pods = [POD]
        async with node.running():
            await node.reach(synchronized)
            assert node.service.seen == ["sync s1"]


async def test_a_fresh_pod_that_the_list_of_synchronize_does_not_name_is_told_afterwards(node: Node) -> None:
    async with serving(node.runtime()) as runtime, node.running():
        await node.reach(connected)
        await node.finish(runtime.happen(pb.RUN_POD_SANDBOX, POD))
        assert node.service.seen == ["sync ", "run s1"]


async def test_an_attach_in_progress_survives_the_loss_of_the_connection(node: Node) -> None:
    node.service.gate = asyncio.Event()
    async with serving(node.runtime()) as runtime, node.running():
        await node.reach(connected)
        running = asyncio.ensure_future(runtime.happen(pb.RUN_POD_SANDBOX, POD))
        await node.pass_time_until(lambda: "run s1" in node.service.seen)
        await runtime.stop()
        await node.finish(running)
        await runtime.start()
        await node.reach(synchronized)
        with pytest.raises(CallError, match="pod shop/web"):
            await node.finish(runtime.create_container(POD, pb.Container(id="c", name="app")))
        node.service.gate.set()


async def test_a_socket_that_was_replaced_is_noticed_although_the_old_connection_lives(node: Node) -> None:
    async with serving(node.runtime()) as old, node.running():
        await node.reach(connected)
        node.socket.rename(node.socket.with_suffix(".old"))
        async with serving(node.runtime()) as new:
            await node.pass_time_until(lambda: new.plugins == ["42-dragoman"])
            assert old.plugins == []


async def test_a_socket_that_was_made_anew_with_the_number_of_the_old_one_is_noticed(node: Node) -> None:
    # File systems give a freed inode number again; what tells the new file apart is when it was last changed.
    async with serving(node.runtime()), node.running():
        await node.reach(connected)
        before = node.socket.stat()
        node.socket.chmod(0o600)
        assert node.socket.stat().st_ino == before.st_ino
        await node.pass_time_until(lambda: "was replaced" in node.plugin.state.reason)
        await node.reach(connected)


async def test_a_removed_socket_is_no_reason_to_leave_a_connection_that_works(node: Node) -> None:
    async with serving(node.runtime()) as runtime, node.running():
        await node.reach(connected)
        node.socket.unlink()
        await node.clock.advance(60)
        await node.finish(runtime.happen(pb.RUN_POD_SANDBOX, POD))
        assert "run s1" in node.service.seen


async def test_a_runtime_that_refuses_is_asked_again_ever_more_seldom(node: Node) -> None:
    attempts: list[float] = []

    async def hang_up(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        attempts.append(node.clock.monotonic())

    async with listening(hang_up, node.socket), node.running():
        state = await node.reach(lambda _: len(attempts) == 8)
        assert state.reason == "the runtime closed the connection before it synchronized"
    waits = [later - earlier for earlier, later in pairwise(attempts)]
    assert waits == sorted(waits)
    assert 1.9 <= waits[-1] <= 2.2


async def test_what_is_not_nri_ends_the_connection_with_a_reason(node: Node) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(frames(9, b"another connection") + b"HTTP/1.1 400 Bad Request\r\n")
        await writer.drain()
        await reader.read()

    async with listening(talk, node.socket), node.running():
        await node.reach(lambda state: "what is not NRI" in state.reason)


async def test_a_refused_registration_is_a_state_with_the_text_of_the_runtime(node: Node) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(frames(2, bytes.fromhex("0000000b0000000102000a090803") + b"\x12\x05taken"))
        await writer.drain()
        await reader.read()

    async with listening(refuse, node.socket), node.running():
        state = await node.reach(lambda state: "did not register" in state.reason)
        assert state.reason == "the runtime did not register plugin 42-dragoman: taken"


async def test_plugins_are_called_in_the_order_of_their_index(node: Node) -> None:
    first = NriPlugin(Service(), socket=node.socket, name="zzz", idx="07", clock=node.clock)
    async with serving(node.runtime()) as runtime, node.running():
        other = asyncio.ensure_future(first.run())
        await node.pass_time_until(lambda: len(runtime.plugins) == 2)
        assert runtime.plugins == ["07-zzz", "42-dragoman"]
        other.cancel()
        await node.pass_time_until(other.done)


@pytest.mark.parametrize(("name", "idx"), [("", "10"), ("a b", "10"), ("x", "1"), ("x", "100"), ("x", "ab")])
def test_a_name_that_runtimes_refuse_is_refused_at_once(tmp_path: Path, name: str, idx: str) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        NriPlugin(Service(), socket=tmp_path, name=name, idx=idx, clock=VirtualClock())


async def test_waiting_for_a_state_ends_when_it_comes(node: Node) -> None:
    waiting = asyncio.ensure_future(node.plugin.wait_for(connected))
    async with serving(node.runtime()), node.running():
        await node.pass_time_until(waiting.done)
        assert waiting.result().connected
    assert (node.plugin.state.connected, node.plugin.state.reason) == (False, "stopped")
