"""The runtime stand-in treats plugins as runtimes do: what is late is dropped, and the pod goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.connection import Connection
from dragoman.nri.mux import PLUGIN_ID, RUNTIME_ID
from dragoman.nri.plugin import RUNTIME_SERVICE
from dragoman.nri.ttrpc import Call, CallError, Code
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.runtime_adjust import adding
from dragoman_testkit.sandbox.runtime_nri import NriEnd, NriOptions

POD = pb.PodSandbox(id="s1", name="web", uid="u1", namespace="shop")
APP = pb.Container(id="c1", pod_sandbox_id="s1", name="app", pid=7)
KEEP = pb.FailurePolicy(keep_connected=True)
FAIL = pb.FailurePolicy(fail_request=True)


class Plugin:
    """A plugin made of a table: an answer, or an error, by method. A method that is missing never answers."""

    def __init__(self, folder: Path, options: NriOptions, policy: pb.FailurePolicy | None = None) -> None:
        self.clock = VirtualClock()
        self.socket = folder / "nri.sock"
        self.end = NriEnd(self.socket, options, self.clock, lambda: [POD, POD, POD], lambda: [APP])
        self.calls: list[str] = []
        self.answers: dict[str, bytes | CallError] = {
            "Configure": pb.ConfigureResponse(events=0xF, failure_policy=policy).SerializeToString(),
            "RunPodSandbox": b"",
            "StateChange": b"",
        }
        self.split = True
        self.idx = "10"
        self.told: list[pb.SynchronizeRequest] = []

    async def handle(self, call: Call) -> bytes:
        self.calls.append(call.method)
        if call.method == "Synchronize":
            self.told.append(pb.SynchronizeRequest.FromString(call.payload))
            more = self.split and self.told[-1].more
            return pb.SynchronizeResponse(more=more).SerializeToString()
        if call.method not in self.answers:
            await asyncio.Event().wait()
        answer = self.answers[call.method]
        if isinstance(answer, CallError):
            raise answer
        return answer

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[NriEnd]:
        await self.end.start()
        reader, writer = await asyncio.open_unix_connection(str(self.socket))
        connection = Connection(reader, writer, self.handle, serves=PLUGIN_ID, calls=RUNTIME_ID, clock=self.clock)
        reading = asyncio.ensure_future(connection.run())
        request = pb.RegisterPluginRequest(plugin_name="p", plugin_idx=self.idx).SerializeToString()
        registering = asyncio.ensure_future(connection.call(RUNTIME_SERVICE, "RegisterPlugin", request, 5))
        try:
            await self.until(lambda: bool(self.end.plugins or self.end.dropped))
            yield self.end
        finally:
            connection.close()
            await asyncio.gather(reading, registering, return_exceptions=True)
            await self.end.stop()

    async def until(self, done: Callable[[], bool]) -> None:
        for _ in range(1000):
            if done():
                return
            await self.clock.advance(0.1)
        raise AssertionError("it never came to that")

    async def happen(self, event: int = pb.RUN_POD_SANDBOX) -> None:
        task = asyncio.ensure_future(self.end.happen(event, POD))
        await self.until(task.done)
        task.result()


async def test_a_late_plugin_is_dropped_and_the_pod_goes_on(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions(knows_failure_policy=False), KEEP)
    del plugin.answers["RunPodSandbox"]
    async with plugin.connected() as runtime:
        await plugin.happen()
        assert runtime.plugins == []
        assert runtime.dropped == ["10-p: RunPodSandbox was not answered within 2 s"]


async def test_a_late_plugin_stays_where_the_runtime_knows_its_policy(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions(), KEEP)
    del plugin.answers["RunPodSandbox"]
    async with plugin.connected() as runtime:
        await plugin.happen()
        assert (runtime.plugins, runtime.dropped) == (["10-p"], [])


async def test_a_late_plugin_fails_the_request_where_it_asked_for_that(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions(), FAIL)
    del plugin.answers["RunPodSandbox"]
    async with plugin.connected() as runtime:
        with pytest.raises(CallError, match="not answered"):
            await plugin.happen()
        assert runtime.plugins == []


async def test_unimplemented_switches_to_state_change_for_good(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions())
    plugin.answers["RunPodSandbox"] = CallError(Code.UNIMPLEMENTED, "method RunPodSandbox")
    async with plugin.connected():
        plugin.calls.clear()
        await plugin.happen()
        await plugin.happen(pb.STOP_POD_SANDBOX)
        assert plugin.calls == ["RunPodSandbox", "StateChange", "StateChange"]


async def test_an_error_of_a_plugin_fails_the_request_and_keeps_it_connected(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions())
    plugin.answers["RunPodSandbox"] = CallError(Code.UNKNOWN, "no such device")
    async with plugin.connected() as runtime:
        with pytest.raises(CallError, match="no such device"):
            await plugin.happen()
        assert runtime.plugins == ["10-p"]


async def test_a_plugin_that_does_not_know_split_synchronize_is_not_taken(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions(chunk=2))
    plugin.split = False
    async with plugin.connected() as runtime:
        assert runtime.plugins == []
        assert runtime.dropped == ["10-p: plugin 10-p does not handle split sync requests"]


async def test_a_plugin_that_comes_is_told_of_containers_once(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions(chunk=2))
    async with plugin.connected():
        assert [(len(part.pods), list(part.containers), part.more) for part in plugin.told] == [
            (2, [APP], True),
            (1, [], False),
        ]


async def test_a_plugin_with_a_wrong_index_is_refused_and_asked_nothing(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions())
    plugin.idx = "1"
    async with plugin.connected() as runtime:
        assert runtime.dropped == ["unregistered plugin: invalid plugin 1-p"]
        assert plugin.calls == []


async def test_a_container_has_the_variables_that_plugins_add(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions())
    plugin.answers["CreateContainer"] = adding({"NIC": "net1"})
    async with plugin.connected() as runtime:
        assert await runtime.create_container(POD, APP) == {"NIC": "net1"}


async def test_event_bits_that_do_not_exist_are_not_taken(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions(dedicated_calls=False))
    plugin.answers["Configure"] = pb.ConfigureResponse(events=0x0800).SerializeToString()
    async with plugin.connected() as runtime:
        assert (runtime.plugins, len(runtime.dropped)) == ([], 1)


async def test_a_plugin_is_told_only_the_events_that_it_wants(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions())
    plugin.answers["Configure"] = pb.ConfigureResponse(events=0x0008).SerializeToString()
    async with plugin.connected():
        plugin.calls.clear()
        await plugin.happen()
        assert plugin.calls == []


async def test_who_connects_and_does_not_register_is_dropped(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, NriOptions())
    await plugin.end.start()
    _, writer = await asyncio.open_unix_connection(str(plugin.socket))
    await plugin.until(lambda: bool(plugin.end.dropped))
    assert plugin.end.dropped == ["unregistered plugin: the plugin did not register"]
    assert plugin.clock.monotonic() >= 5
    writer.close()
    await plugin.end.stop()
