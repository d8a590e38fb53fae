"""Services behind the gate: done here, by the active agent, or made up for later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from dragoman.engine.gate import Gate, NotActive
from dragoman.engine.gated import GatedClaims, GatedSandboxes, LocalServices
from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman.model.errors import Unavailable
from dragoman.model.sandboxes import Container, Sandbox
from dragoman_testkit.fakes.clock import VirtualClock

CLAIMS = [ClaimRef(uid="u1", namespace="default", name="c1")]
CONTAINER = Container(id="k1", sandbox_id="s1", name="main")


def sandbox(id_: str) -> Sandbox:
    return Sandbox(id=id_, pod_uid=f"p-{id_}", pod_namespace="default", pod_name=id_, netns_path=f"/run/netns/{id_}")


@dataclass
class Engine:
    """Notes what it is asked; a name tells the answers of two apart."""

    name: str
    asked: list[str] = field(default_factory=list)
    failures: int = 0
    hangs: bool = False

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        await self._note("prepare")
        return {claim.uid: PrepareAnswer(error=self.name) for claim in claims}

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        await self._note("unprepare")
        return {claim.uid: self.name for claim in claims}

    async def container_gate(self, sandbox: Sandbox, container: Container) -> str | None:
        await self._note(f"container {container.name} of {sandbox.id}")
        return self.name

    create_container = container_gate

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        await self._note(f"synchronize {' '.join(sorted(sandbox.id for sandbox in sandboxes))}")

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        await self._note(f"run {sandbox.id} {budget:g}")

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        await self._note(f"stop {sandbox.id} {budget:g}")

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        await self._note(f"remove {sandbox.id} {budget:g}")

    async def _note(self, what: str) -> None:
        self.asked.append(what)
        if self.hangs:
            await asyncio.Event().wait()
        if self.failures:
            self.failures -= 1
            raise Unavailable("nobody answers")


class Agent:
    """A gate with services before it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.gate = Gate()
        self.here, self.there = Engine("here"), Engine("there")
        self.claims = GatedClaims(self.gate, self.here, self.there, self.clock)
        self.sandboxes = GatedSandboxes(self.gate, self.here, self.there, self.clock)
        self.scanned = asyncio.Event()
        self.scanned.set()
        self.local = LocalServices(self.gate, self.here, self.here, self._wait_scanned)

    async def _wait_scanned(self) -> None:
        await self.scanned.wait()


async def test_the_active_agent_prepares_itself() -> None:
    agent = Agent()
    agent.gate.open()
    assert await agent.claims.prepare(CLAIMS) == {"u1": PrepareAnswer(error="here")}
    assert await agent.claims.unprepare(CLAIMS) == {"u1": "here"}
    assert agent.there.asked == []


async def test_a_passive_agent_has_it_done_by_the_active_one() -> None:
    agent = Agent()
    agent.gate.elsewhere()
    assert await agent.claims.prepare(CLAIMS) == {"u1": PrepareAnswer(error="there")}
    assert await agent.claims.unprepare(CLAIMS) == {"u1": "there"}
    assert agent.here.asked == []


@pytest.mark.parametrize(("settle", "who"), [(Gate.open, "here"), (Gate.elsewhere, "there")])
async def test_a_call_in_between_waits_until_it_is_settled_who_is_active(
    settle: Callable[[Gate], None], who: str
) -> None:
    agent = Agent()
    call = asyncio.create_task(agent.claims.unprepare(CLAIMS))
    await agent.clock.advance(30)
    assert not call.done()
    settle(agent.gate)
    assert await call == {"u1": who}


async def test_a_call_that_the_active_agent_does_not_answer_is_tried_again() -> None:
    agent = Agent()
    agent.gate.elsewhere()
    agent.there.failures = 3
    call = asyncio.create_task(agent.claims.unprepare(CLAIMS))
    await agent.clock.advance(1.4)
    assert not call.done()
    await agent.clock.advance(0.2)
    assert call.result() == {"u1": "there"}


async def test_a_call_whose_active_agent_died_is_done_here_once_this_one_is_active_again() -> None:
    agent = Agent()
    agent.gate.elsewhere()
    agent.there.failures = 10**6
    call = asyncio.create_task(agent.claims.unprepare(CLAIMS))
    await agent.clock.advance(3)
    agent.gate.close()
    await agent.clock.advance(3)
    agent.gate.open()
    await agent.clock.advance(0)
    assert call.result() == {"u1": "here"}


async def test_a_caller_that_gives_up_ends_its_wait() -> None:
    agent = Agent()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(agent.claims.prepare(CLAIMS), 0)
    agent.gate.open()
    await agent.clock.settle()
    assert agent.here.asked == []


async def test_what_was_handed_on_once_is_not_handed_on_again() -> None:
    agent = Agent()
    agent.gate.elsewhere()
    with pytest.raises(NotActive, match="prepare claim default/c1"):
        await agent.local.prepare(CLAIMS)
    with pytest.raises(NotActive):
        await agent.local.unprepare(CLAIMS)
    with pytest.raises(NotActive):
        await agent.local.container_gate(sandbox("s1"), CONTAINER)
    agent.gate.open()
    assert await agent.local.unprepare(CLAIMS) == {"u1": "here"}
    assert await agent.local.container_gate(sandbox("s1"), CONTAINER) == "here"


@pytest.mark.parametrize("settle", [Gate.close, Gate.elsewhere])
async def test_an_event_of_a_sandbox_is_handed_on_to_an_active_agent_or_not_at_all(
    settle: Callable[[Gate], None],
) -> None:
    agent = Agent()
    settle(agent.gate)
    for event in (agent.local.run_sandbox, agent.local.stop_sandbox, agent.local.remove_sandbox):
        with pytest.raises(NotActive, match="pod default/s1"):
            await event(sandbox("s1"), 1)
    agent.gate.open()
    await agent.clock.settle()
    assert agent.here.asked == []
    await agent.local.stop_sandbox(sandbox("s1"), 1)
    assert agent.here.asked == ["stop s1 1"]


async def test_a_claim_that_is_handed_on_before_the_devices_are_known_waits_for_them() -> None:
    agent = Agent()
    agent.scanned.clear()
    agent.gate.open()
    prepare = asyncio.create_task(agent.local.prepare(CLAIMS))
    await agent.local.run_sandbox(sandbox("s1"), 1)
    await agent.gate.drain(agent.clock, 20)
    assert agent.here.asked == ["run s1 1"]
    agent.scanned.set()
    assert await prepare == {"u1": PrepareAnswer(error="here")}


async def test_the_active_agent_moves_devices_within_the_budget_it_is_given() -> None:
    agent = Agent()
    agent.gate.open()
    await agent.sandboxes.synchronize([sandbox("s1")])
    await agent.sandboxes.run_sandbox(sandbox("s2"), 1.5)
    await agent.sandboxes.stop_sandbox(sandbox("s2"), 1.5)
    await agent.sandboxes.remove_sandbox(sandbox("s2"), 1.5)
    assert await agent.sandboxes.create_container(sandbox("s1"), CONTAINER) == "here"
    assert agent.here.asked == [
        "synchronize s1",
        "run s2 1.5",
        "stop s2 1.5",
        "remove s2 1.5",
        "container main of s1",
    ]


async def test_a_passive_agent_hands_on_what_the_runtime_tells() -> None:
    agent = Agent()
    agent.gate.elsewhere()
    await agent.sandboxes.run_sandbox(sandbox("s1"), 1.5)
    await agent.sandboxes.stop_sandbox(sandbox("s1"), 1.5)
    await agent.sandboxes.remove_sandbox(sandbox("s1"), 1.5)
    assert (agent.here.asked, agent.there.asked) == ([], ["run s1 1.5", "stop s1 1.5", "remove s1 1.5"])


@pytest.mark.parametrize(
    ("settle", "here", "there"), [(Gate.open, ["run s1 1"], []), (Gate.elsewhere, [], ["run s1 1"])]
)
async def test_a_sandbox_in_between_gets_its_devices_in_what_is_left_of_its_budget_once_it_is_settled_who_is_active(
    settle: Callable[[Gate], None], here: Sequence[str], there: Sequence[str]
) -> None:
    agent = Agent()
    running = asyncio.create_task(agent.sandboxes.run_sandbox(sandbox("s1"), 1.5))
    await agent.clock.advance(0.5)
    assert not running.done()
    settle(agent.gate)
    await running
    assert (agent.here.asked, agent.there.asked) == (here, there)


@pytest.mark.parametrize("settle", [Gate.close, Gate.elsewhere])
async def test_the_runtime_waits_no_longer_than_the_budget_for_who_does_not_answer(
    settle: Callable[[Gate], None],
) -> None:
    agent = Agent()
    agent.there.hangs = True
    settle(agent.gate)
    running = asyncio.create_task(agent.sandboxes.run_sandbox(sandbox("s1"), 1.5))
    await agent.clock.advance(1.4)
    assert not running.done()
    await agent.clock.advance(0.2)
    await running


@pytest.mark.parametrize("settle", [Gate.close, Gate.elsewhere])
async def test_what_nobody_did_meanwhile_is_made_up_for_later(settle: Callable[[Gate], None]) -> None:
    agent = Agent()
    agent.there.failures = 3
    agent.gate.open()
    for id_ in ("stays", "stops", "goes"):
        await agent.sandboxes.run_sandbox(sandbox(id_), 1)
    agent.here.asked.clear()
    settle(agent.gate)
    told = asyncio.gather(
        agent.sandboxes.run_sandbox(sandbox("comes"), 1),
        agent.sandboxes.stop_sandbox(sandbox("stops"), 1),
        agent.sandboxes.remove_sandbox(sandbox("goes"), 1),
    )
    await agent.clock.advance(1)
    await told
    assert agent.here.asked == []
    agent.gate.open()
    await agent.sandboxes.resynchronize()
    assert agent.here.asked == ["synchronize comes stays"]


async def test_a_passive_agent_asks_the_active_one_about_a_container() -> None:
    agent = Agent()
    agent.gate.elsewhere()
    assert await agent.sandboxes.create_container(sandbox("s1"), CONTAINER) == "there"


async def test_a_container_waits_where_the_active_agent_cannot_be_asked() -> None:
    agent = Agent()
    agent.gate.elsewhere()
    agent.there.failures = 1
    answer = await agent.sandboxes.create_container(sandbox("s1"), CONTAINER)
    assert answer == "pod default/s1: the active agent cannot be asked about container main: nobody answers"


@pytest.mark.parametrize("settle", [Gate.close, Gate.elsewhere])
async def test_a_container_waits_where_no_answer_comes_in_the_time_the_runtime_gives(
    settle: Callable[[Gate], None],
) -> None:
    agent = Agent()
    agent.there.hangs = True
    settle(agent.gate)
    question = asyncio.create_task(agent.sandboxes.create_container(sandbox("s1"), CONTAINER))
    await agent.clock.advance(1.0)
    assert question.result() == "pod default/s1: container main waits until the agents of this node have handed over"


async def test_a_container_that_comes_in_between_is_answered_once_it_is_settled() -> None:
    agent = Agent()
    question = asyncio.create_task(agent.sandboxes.create_container(sandbox("s1"), CONTAINER))
    await agent.clock.advance(0.5)
    assert not question.done()
    agent.gate.open()
    assert await question == "here"


async def test_a_handover_waits_for_the_attach_that_runs() -> None:
    agent = Agent()
    agent.gate.open()
    agent.here.hangs = True
    attach = asyncio.create_task(agent.sandboxes.run_sandbox(sandbox("s1"), 1))
    await agent.clock.settle()
    draining = asyncio.create_task(agent.gate.drain(agent.clock, 20))
    await agent.clock.advance(1)
    assert not draining.done()
    attach.cancel()
    await agent.clock.settle()
    assert draining.done()
