"""What the runtime calls: answers within the budget whatever the service does, in order for each sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from google.protobuf.message import Message

from dragoman.model.sandboxes import Container, Sandbox
from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.session import PLUGIN_SERVICE, Session, sandbox_of
from dragoman.nri.state import Board
from dragoman.nri.ttrpc import Call, CallError, Code
from dragoman.nri.work import Queues
from dragoman_testkit.fakes.clock import VirtualClock

POD = pb.PodSandbox(
    id="s1",
    name="web",
    uid="u1",
    namespace="shop",
    linux=pb.LinuxPodSandbox(
        namespaces=[
            pb.LinuxNamespace(type="ipc", path="/proc/1/ns/ipc"),
            pb.LinuxNamespace(type="network", path="/run/netns/cni-1"),
        ]
    ),
    ips=["10.0.0.7"],
    pid=6,
)
SANDBOX = Sandbox(
    id="s1", pod_uid="u1", pod_namespace="shop", pod_name="web", netns_path="/run/netns/cni-1", ips=("10.0.0.7",)
)
OTHER = pb.PodSandbox(id="s2", name="db", uid="u2", namespace="shop", pid=7)
EVENTS = {"RunPodSandbox": 1, "StopPodSandbox": 2, "RemovePodSandbox": 3}
REQUESTS = {
    "RunPodSandbox": pb.RunPodSandboxRequest,
    "StopPodSandbox": pb.StopPodSandboxRequest,
    "RemovePodSandbox": pb.RemovePodSandboxRequest,
}


class Service:
    """Notes what it is asked; a held name waits, a failing one raises."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.seen: list[tuple[str, str]] = []
        self.sandboxes: list[Sandbox] = []
        self.budgets: list[float] = []
        self.held: dict[str, asyncio.Event] = {}
        self.failing: set[str] = set()
        self.refusal: str | None = None

    def hold(self, name: str) -> asyncio.Event:
        return self.held.setdefault(name, asyncio.Event())

    async def note(self, name: str, of: str) -> None:
        self.seen.append((name, of))
        if name in self.held:
            await self.held[name].wait()
        if name in self.failing:
            raise RuntimeError("broken")
        self.seen.append((f"{name} done", of))

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        self.sandboxes += sandboxes
        await self.note("sync", ",".join(sandbox.id for sandbox in sandboxes))

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.sandboxes.append(sandbox)
        self.budgets.append(budget)
        await self.note("run", sandbox.id)

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.budgets.append(budget)
        await self.note("stop", sandbox.id)

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        await self.note("remove", sandbox.id)

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        await self.note("create", container.name)
        return self.refusal


class Runtime:
    """Calls a session directly."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.service = Service(self.clock)
        self.board = Board(self.clock)
        self.queues = Queues()
        self.session = Session(self.service, self.board, self.queues, self.clock)

    async def ask(
        self, method: str, message: Message | bytes, *, service: str = PLUGIN_SERVICE, limit: float | None = None
    ) -> bytes:
        payload = message if isinstance(message, bytes) else message.SerializeToString()
        return await self.session.handle(Call(1, service, method, payload, limit))

    def begin(self, method: str, message: Message, limit: float | None = None) -> asyncio.Task[bytes]:
        return asyncio.ensure_future(self.ask(method, message, limit=limit))

    async def create(self, pod: pb.PodSandbox = POD) -> bytes:
        container = pb.Container(id="c1", pod_sandbox_id=pod.id, name="app")
        return await self.ask("CreateContainer", pb.CreateContainerRequest(pod=pod, container=container))


@pytest.fixture
async def runtime() -> Runtime:
    return Runtime()


async def test_configure_answers_an_explicit_mask_and_the_failure_policy(runtime: Runtime) -> None:
    request = pb.ConfigureRequest(runtime_name="containerd", runtime_version="v2.3.1", nri_version="v0.12.5")
    answer = pb.ConfigureResponse.FromString(await runtime.ask("Configure", request))
    assert answer.events == 0x000F
    assert answer.HasField("failure_policy")
    assert (answer.failure_policy.fail_request, answer.failure_policy.keep_connected) == (False, True)
    state = runtime.board.state
    assert (state.runtime_name, state.runtime_version, state.nri_version) == ("containerd", "v2.3.1", "v0.12.5")
    assert not state.connected


async def test_a_part_of_synchronize_is_answered_with_more_and_all_pods_come_together(runtime: Runtime) -> None:
    first = pb.SynchronizeResponse.FromString(
        await runtime.ask("Synchronize", pb.SynchronizeRequest(pods=[POD], more=True))
    )
    await runtime.clock.settle()
    assert first.more
    assert runtime.service.seen == []
    last = pb.SynchronizeResponse.FromString(await runtime.ask("Synchronize", pb.SynchronizeRequest(pods=[OTHER])))
    assert not last.more
    await runtime.clock.settle()
    assert runtime.service.seen == [("sync", "s1,s2"), ("sync done", "s1,s2")]
    assert runtime.service.sandboxes[0] == SANDBOX


async def test_sandboxes_that_ended_are_listed_by_runtimes_and_are_none(runtime: Runtime, tmp_path: Path) -> None:
    ended = [pb.PodSandbox(id="s3"), pb.PodSandbox(id="s4", linux=_network(str(tmp_path / "gone")))]
    without_process = pb.PodSandbox(id="s5", linux=_network(str(tmp_path)))
    await runtime.ask("Synchronize", pb.SynchronizeRequest(pods=[*ended, OTHER, without_process]))
    await runtime.clock.settle()
    assert runtime.service.seen == [("sync", "s2,s5"), ("sync done", "s2,s5")]


async def test_synchronize_is_answered_although_the_service_hangs(runtime: Runtime) -> None:
    gate = runtime.service.hold("sync")
    await runtime.ask("Synchronize", pb.SynchronizeRequest(pods=[POD]))
    await runtime.clock.settle()
    assert (runtime.board.state.connected, runtime.board.state.synchronized) == (True, False)
    gate.set()
    await runtime.clock.settle()
    assert runtime.board.state.synchronized


async def test_a_synchronize_of_an_earlier_connection_does_not_count_for_this_one(runtime: Runtime) -> None:
    gate = runtime.service.hold("sync")
    await runtime.ask("Synchronize", pb.SynchronizeRequest())
    await runtime.clock.settle()
    runtime.board.update(connected=False, reason="gone")
    runtime.board.update(connected=True, reason="")
    gate.set()
    await runtime.clock.settle()
    assert not runtime.board.state.synchronized


@pytest.mark.parametrize("method", ["RunPodSandbox", "StopPodSandbox", "RemovePodSandbox"])
@pytest.mark.parametrize("as_state_change", [False, True])
async def test_sandbox_events_arrive_both_ways(runtime: Runtime, method: str, as_state_change: bool) -> None:
    if as_state_change:
        event = pb.StateChangeEvent(event=EVENTS[method], pod=POD)  # type: ignore[arg-type]  # numbers of an Event
        answer = await runtime.ask("StateChange", event)
    else:
        answer = await runtime.ask(method, REQUESTS[method](pod=POD))
    name = method.removesuffix("PodSandbox").lower()
    assert answer == b""
    assert runtime.service.seen == [(name, "s1"), (f"{name} done", "s1")]


@pytest.mark.parametrize("event", [0, 4, 6, 11, 99])
async def test_other_state_changes_are_taken_and_ignored(runtime: Runtime, event: int) -> None:
    assert await runtime.ask("StateChange", pb.StateChangeEvent(event=event, pod=POD)) == b""  # type: ignore[arg-type]  # also numbers that do not exist yet
    assert runtime.service.seen == []


@pytest.mark.parametrize(
    ("service", "method", "text"),
    [
        (PLUGIN_SERVICE, "UpdatePodSandbox", "method UpdatePodSandbox"),
        (PLUGIN_SERVICE, "ValidateContainerAdjustment", "method Validate"),
        ("nri.pkg.api.v1alpha1.HostFunctions", "Log", "service nri.pkg"),
    ],
)
async def test_what_is_not_known_is_unimplemented(runtime: Runtime, service: str, method: str, text: str) -> None:
    with pytest.raises(CallError, match=text) as raised:
        await runtime.ask(method, b"", service=service)
    assert raised.value.code == Code.UNIMPLEMENTED


async def test_run_is_answered_before_the_budget_ends_although_the_service_hangs(runtime: Runtime) -> None:
    gate = runtime.service.hold("run")
    answer = runtime.begin("RunPodSandbox", pb.RunPodSandboxRequest(pod=POD))
    await runtime.clock.advance(1.7)
    assert not answer.done()
    await runtime.clock.advance(0.29)
    assert answer.result() == b""
    assert runtime.service.seen == [("run", "s1")]
    gate.set()
    await runtime.clock.settle()
    assert runtime.service.seen[-1] == ("run done", "s1")


@pytest.mark.parametrize(
    ("announced", "limit", "least", "most"),
    [(0, None, 1.0, 2.0), (500, None, 0.25, 0.5), (10_000, None, 5.0, 10.0), (10_000, 1.0, 0.5, 1.0)],
)
async def test_the_service_gets_a_safe_part_of_the_budget(
    runtime: Runtime, announced: int, limit: float | None, least: float, most: float
) -> None:
    await runtime.ask("Configure", pb.ConfigureRequest(request_timeout=announced))
    await runtime.ask("RunPodSandbox", pb.RunPodSandboxRequest(pod=POD), limit=limit)
    assert least <= runtime.service.budgets[0] < most


async def test_run_is_never_answered_with_an_error(runtime: Runtime) -> None:
    runtime.service.failing.add("run")
    assert await runtime.ask("RunPodSandbox", pb.RunPodSandboxRequest(pod=POD)) == b""
    assert await runtime.ask("RunPodSandbox", b"\xff\xff") == b""
    assert await runtime.ask("StateChange", b"\xff\xff") == b""


async def test_a_message_that_cannot_be_read_is_refused_where_that_is_harmless(runtime: Runtime) -> None:
    with pytest.raises(CallError) as raised:
        await runtime.ask("Configure", b"\xff\xff")
    assert raised.value.code == Code.INVALID_ARGUMENT


async def test_events_of_one_sandbox_are_worked_on_in_order_and_other_sandboxes_do_not_wait(runtime: Runtime) -> None:
    gate = runtime.service.hold("run")
    run = runtime.begin("RunPodSandbox", pb.RunPodSandboxRequest(pod=POD))
    stop = runtime.begin("StopPodSandbox", pb.StopPodSandboxRequest(pod=POD))
    await runtime.ask("StopPodSandbox", pb.StopPodSandboxRequest(pod=OTHER))
    assert ("stop", "s1") not in runtime.service.seen
    await runtime.clock.advance(2)
    assert run.done()
    assert stop.done()
    gate.set()
    await runtime.clock.settle()
    assert [entry for entry in runtime.service.seen if entry[1] == "s1"] == [
        ("run", "s1"),
        ("run done", "s1"),
        ("stop", "s1"),
        ("stop done", "s1"),
    ]
    assert runtime.service.budgets[-1] == 0.0


async def test_a_container_is_refused_with_the_reason_of_the_service(runtime: Runtime) -> None:
    runtime.service.refusal = "device nic0 is not attached yet"
    with pytest.raises(CallError, match="nic0 is not attached yet"):
        await runtime.create()
    runtime.service.refusal = None
    assert await runtime.create() == b""


async def test_a_container_is_refused_at_once_while_its_sandbox_is_worked_on(runtime: Runtime) -> None:
    gate = runtime.service.hold("run")
    run = runtime.begin("RunPodSandbox", pb.RunPodSandboxRequest(pod=POD))
    await runtime.clock.advance(2)
    assert run.done()
    with pytest.raises(CallError, match="pod shop/web"):
        await runtime.create()
    assert await runtime.create(OTHER) == b""
    gate.set()
    await runtime.clock.settle()
    assert await runtime.create() == b""


async def test_a_container_is_refused_in_time_when_the_service_cannot_tell(runtime: Runtime) -> None:
    runtime.service.hold("create")
    creating = asyncio.ensure_future(runtime.create())
    await runtime.clock.advance(1.99)
    with pytest.raises(CallError, match="nobody could tell in time"):
        creating.result()


@pytest.mark.parametrize(
    "spaces", [[], [pb.LinuxNamespace(type="ipc", path="/x")], [pb.LinuxNamespace(type="network", path="")]]
)
def test_no_namespace_path_is_none(spaces: list[pb.LinuxNamespace]) -> None:
    assert sandbox_of(pb.PodSandbox(id="s", linux=pb.LinuxPodSandbox(namespaces=spaces))).netns_path is None


async def test_work_that_does_not_end_is_cancelled_when_the_plugin_stops(runtime: Runtime) -> None:
    runtime.service.hold("run")
    run = runtime.begin("RunPodSandbox", pb.RunPodSandboxRequest(pod=POD))
    await runtime.clock.settle()
    closing = asyncio.ensure_future(runtime.queues.close(runtime.clock, 2.0))
    await runtime.clock.advance(1.9)
    assert not closing.done()
    await runtime.clock.advance(0.2)
    await closing
    await run
    assert not runtime.queues.busy("s1")


def _network(path: str) -> pb.LinuxPodSandbox:
    return pb.LinuxPodSandbox(namespaces=[pb.LinuxNamespace(type="network", path=path)])
