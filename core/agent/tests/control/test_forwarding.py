"""DRA calls and the question of the container go over the wire as they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import pytest

from dragoman.control import forwarding
from dragoman.control.client import call
from dragoman.control.forwarding import ActiveAgent
from dragoman.control.messages import RemoteError
from dragoman.control.server import ControlServer
from dragoman.model.claims import ClaimRef, PrepareAnswer, PreparedDevice
from dragoman.model.errors import Unavailable
from dragoman.model.sandboxes import Container, Sandbox

Serve = Callable[..., Awaitable[ControlServer]]

CLAIMS = [ClaimRef(uid=f"u{n}", namespace="default", name=f"c{n}") for n in range(2)]
ANSWERS = {
    "u0": PrepareAnswer(
        devices=(
            PreparedDevice(requests=("nic",), pool="node-a", device="dummy0", cdi_device_ids=("a/b=c", "a/b=d")),
            PreparedDevice(requests=("x", "y"), pool="node-a", device="m0", cdi_device_ids=(), share_id="s"),
        )
    ),
    "u1": PrepareAnswer(error="claim default/c1: VLAN 5000 is outside 0–4094"),
}
SANDBOX = Sandbox(id="s1", pod_uid="p1", pod_namespace="default", pod_name="pod", netns_path=None, ips=("192.0.2.1",))
CONTAINER = Container(id="k1", sandbox_id="s1", name="main")


class Services:
    """An active agent that notes what it was asked."""

    def __init__(self, reason: str | None = None, fault: Exception | None = None) -> None:
        self.asked: list[object] = []
        self.reason = reason
        self.fault = fault

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        self.asked.append(claims)
        if self.fault:
            raise self.fault
        return ANSWERS

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        self.asked.append(claims)
        return {claim.uid: "" for claim in claims}

    async def container_gate(self, sandbox: Sandbox, container: Container) -> str | None:
        self.asked.append((sandbox, container))
        return self.reason

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.asked.append(("run", sandbox, budget))

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.asked.append(("stop", sandbox, budget))

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        self.asked.append(("remove", sandbox, budget))


async def test_prepare_and_unprepare_answer_for_every_claim(serve: Serve, path: Path) -> None:
    services = Services()
    await serve(**forwarding.handlers(services))
    active = ActiveAgent(path)
    assert await active.prepare(CLAIMS) == ANSWERS
    assert await active.unprepare(CLAIMS) == {"u0": "", "u1": ""}
    assert services.asked == [CLAIMS, CLAIMS]


@pytest.mark.parametrize("reason", [None, "pod default/pod: dummy0 is not attached yet"])
async def test_the_gate_of_a_container_answers_with_its_reason(serve: Serve, path: Path, reason: str | None) -> None:
    services = Services(reason)
    await serve(**forwarding.handlers(services))
    assert await ActiveAgent(path).container_gate(SANDBOX, CONTAINER) == reason
    assert services.asked == [(SANDBOX, CONTAINER)]


async def test_events_of_a_sandbox_arrive_with_what_is_left_of_their_budget(serve: Serve, path: Path) -> None:
    services = Services()
    await serve(**forwarding.handlers(services))
    active = ActiveAgent(path)
    await active.run_sandbox(SANDBOX, 1.5)
    await active.stop_sandbox(SANDBOX, 1.25)
    await active.remove_sandbox(SANDBOX, 1)
    assert services.asked == [("run", SANDBOX, 1.5), ("stop", SANDBOX, 1.25), ("remove", SANDBOX, 1.0)]


@pytest.mark.parametrize("fault", [Unavailable("not the active agent"), RuntimeError("a fault")])
async def test_an_active_agent_that_cannot_is_unavailable(serve: Serve, path: Path, fault: Exception) -> None:
    await serve(**forwarding.handlers(Services(fault=fault)))
    with pytest.raises(Unavailable, match="the active agent did not prepare"):
        await ActiveAgent(path).prepare(CLAIMS)


async def test_no_active_agent_is_unavailable(path: Path) -> None:
    with pytest.raises(Unavailable):
        await ActiveAgent(path).unprepare(CLAIMS)


async def test_an_answer_of_another_shape_is_unavailable(serve: Serve, path: Path) -> None:
    async def odd(_: object) -> object:
        return {"u0": 7}

    await serve(prepare=odd)
    with pytest.raises(Unavailable, match="did not prepare"):
        await ActiveAgent(path).prepare(CLAIMS)


async def test_params_of_another_shape_are_named(serve: Serve, path: Path) -> None:
    await serve(**forwarding.handlers(Services()))
    with pytest.raises(RemoteError, match="parameter claims cannot be read"):
        await call(path, "prepare", {"claims": "all"})
