"""An agent of lock, ledger, control socket and handover, for tests that run several and kill some of them.

Usage: agent_process.py FOLDER NAME [STEP]; it prints each step as it takes it and hangs for ever in STEP. It
prepares a claim by noting its own name in the ledger, and attaches by noting a namespace there.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.control import forwarding, surroundings
from dragoman.control import handover as wire
from dragoman.control.server import Call, ControlServer, Handler
from dragoman.engine.gate import Gate
from dragoman.engine.gated import GatedClaims, GatedSandboxes, LocalServices
from dragoman.engine.handover import Handover
from dragoman.links import HostLinks
from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.sandboxes import Container, Sandbox
from dragoman.model.states import AllocationState, AttachmentState
from dragoman.store.ledger import Ledger
from dragoman.store.lock import NodeLock
from dragoman_hookspecs import Device, DragomanError


async def scanned() -> None:
    """There are no devices to wait for."""


class WallClock:
    """Real time."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)


class Services:
    """Claims and sandboxes, of which only the name of who answers matters."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        for claim in claims:
            self._agent.opened().set_meta(claim.uid, self._agent.name)
        return {claim.uid: PrepareAnswer(error=f"by {self._agent.name}") for claim in claims}

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        return {claim.uid: f"prepared by {self._agent.opened().meta(claim.uid)}" for claim in claims}

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        pass

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        pass

    stop_sandbox = remove_sandbox = run_sandbox

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        return f"refused by {self._agent.name}"


def rows(path: str, cookie: str) -> tuple[AllocationRow, AttachmentRow]:
    """Give the rows of a device on its way into the pod of that namespace."""
    key = AllocationKey(claim_uid="u1", request="nic", driver="net.dragoman.dev", pool="node-a", device="eth1")
    allocation = AllocationRow(
        key=key,
        claim=ClaimRef(uid="u1", namespace="default", name="c1"),
        position=0,
        state=AllocationState.PREPARING,
        manager="nic",
        distribution="dragoman-nic",
        plugin_version="0.1.0",
        device=Device(name="eth1", identity="mac:02:00:00:00:00:01"),
    )
    attachment = AttachmentRow(
        key=AttachmentKey(allocation=key, sandbox_id="s1"),
        state=AttachmentState.ATTACHING,
        pod_uid="p1",
        pod_namespace="default",
        pod_name="web",
        netns_path=path,
        netns_cookie=cookie,
    )
    return allocation, attachment


class LockRequest(wire.LockRequest):
    """Prints that it got no answer."""

    async def ask(self) -> wire.LifeLine:
        try:
            return await super().ask()
        except DragomanError:
            os.write(1, b"not answered\n")
            raise


class Agent:
    """Satisfies ``Node``."""

    def __init__(self, folder: Path, name: str, hang_in: str) -> None:
        self.name = name
        self._folder = folder
        self._hang_in = hang_in
        self._ledger: Ledger | None = None
        path = folder / "control.sock"
        clock, gate, services, links = WallClock(), Gate(), Services(self), HostLinks()
        active = forwarding.ActiveAgent(path)
        self._claims = GatedClaims(gate, services, active, clock)
        self._sandboxes = GatedSandboxes(gate, services, active, clock)
        self.handover = Handover(
            node=self,
            gate=gate,
            lock=NodeLock(folder, clock),
            asker=LockRequest(path, "0.1.0", links, answer_within=1.0),
            clock=clock,
        )
        handlers = {
            **wire.handlers(self.handover),
            **surroundings.handlers(links, lambda: self._ledger.attachments() if self._ledger else ()),
            **forwarding.handlers(LocalServices(gate, services, services, scanned)),
        }
        self._control = ControlServer(path, handlers)
        # Stands for the sockets that an agent keeps when it turns passive.
        self._own = ControlServer(folder / f"{name}.sock", self._edges())

    def _edges(self) -> Mapping[str, Handler]:
        async def prepare(call: Call) -> object:
            return await self._claims.prepare([ClaimRef(**call.params)])

        async def unprepare(call: Call) -> object:
            return await self._claims.unprepare([ClaimRef(**call.params)])

        async def attach(call: Call) -> object:
            allocation, attachment = rows(call.params["path"], call.params["cookie"])
            self.opened().put_allocations([allocation])
            self.opened().put_attachments([attachment])
            return {}

        async def container(call: Call) -> object:
            sandbox = Sandbox(id="s", pod_uid="p", pod_namespace="default", pod_name="pod", netns_path=None)
            return await self._sandboxes.create_container(sandbox, Container(id="k", sandbox_id="s", name="main"))

        async def state(call: Call) -> object:
            return [self.handover.state.value, self.handover.reason]

        return {"prepare": prepare, "unprepare": unprepare, "attach": attach, "container": container, "state": state}

    def opened(self) -> Ledger:
        assert self._ledger is not None
        return self._ledger

    async def _step(self, name: str) -> None:
        os.write(1, name.encode() + b"\n")
        if self._hang_in == name:
            await asyncio.Event().wait()

    async def open_ledger(self) -> None:
        self._ledger = Ledger.open(self._folder, "boot-1")
        await self._step("open_ledger")

    async def recover(self) -> None:
        await self._step("recover")

    async def take_calls(self) -> None:
        await self._control.publish()

    async def become_active(self) -> None:
        await self._step("become_active")

    async def catch_up(self) -> None:
        await self._step("catch_up")

    async def become_passive(self) -> None:
        await self._step("become_passive")

    async def close_ledger(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None

    async def run(self) -> None:
        await self._own.publish()
        await self._step("started")
        await self.handover.take()
        await self._step("taken")
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(Agent(Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "").run())
    except DragomanError as error:
        sys.exit(str(error))
