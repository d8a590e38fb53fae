"""The services of the engine behind the gate: done here, by the active agent, or later.

The edges keep their sockets when their agent turns passive; these objects stand between them and the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

from loguru import logger

from dragoman.clock import Clock
from dragoman.engine.gate import Gate, Mode, NotActive
from dragoman.engine.waiting import finished
from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman.model.errors import Unavailable
from dragoman.model.sandboxes import Container, Sandbox

T = TypeVar("T")

ASK_AGAIN = 0.5
"""Seconds until a call is handed on again that the active agent did not answer."""
CONTAINER_WITHIN = 1.0
"""Seconds for the question of a container: below the two seconds that runtimes give a plugin by default."""


class Claims(Protocol):
    """Prepares and unprepares claims."""

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare a batch."""

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare a batch."""


class SandboxEvents(Protocol):
    """Hears of one sandbox after the other."""

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Attach the pod's devices within so many seconds; what takes longer goes on."""

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Detach the devices of the sandbox."""

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Forget the sandbox."""


_Event = Callable[[SandboxEvents], Callable[[Sandbox, float], Awaitable[None]]]


class Sandboxes(SandboxEvents, Protocol):
    """Moves devices with sandboxes."""

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        """Learn all running sandboxes."""

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        """Give the reason why the container must not be created yet, or None."""


class ActiveAgent(SandboxEvents, Protocol):
    """The active agent of the node, where that is another one. Every method raises ``Unavailable``."""

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Have a batch prepared."""

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Have a batch unprepared."""

    async def container_gate(self, sandbox: Sandbox, container: Container) -> str | None:
        """Ask why the container must not be created yet; None where it may."""


class GatedClaims:
    """DRA calls: done here or by the active agent. They wait as long as their caller does; prepare may be repeated."""

    def __init__(self, gate: Gate, claims: Claims, active: ActiveAgent, clock: Clock) -> None:
        self._gate = gate
        self._claims = claims
        self._active = active
        self._clock = clock

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare a batch."""
        name = f"prepare {_names(claims)}"
        return await self._done(name, lambda: self._claims.prepare(claims), lambda: self._active.prepare(claims))

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare a batch."""
        name = f"unprepare {_names(claims)}"
        return await self._done(name, lambda: self._claims.unprepare(claims), lambda: self._active.unprepare(claims))

    async def _done(self, name: str, here: Callable[[], Awaitable[T]], there: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                async with self._gate.operation(name):
                    return await here()
            except NotActive:
                pass
            try:
                return await there()
            except Unavailable as error:
                logger.warning("{}: handed on, and not answered: {}", name, error)
                await self._clock.sleep(ASK_AGAIN)


class GatedSandboxes:
    """What the runtime tells. Satisfies the NRI edge: no call raises, and none takes longer than its budget.

    What is told while agents hand over waits, within its budget, until it is settled who is active. Where that is
    another agent it is handed on, as that one may not hear the runtime yet; what it hears twice changes nothing. The
    guards of what takes longer stay closed: the active agent learns it when it connects, and what is running is
    remembered here, so that it can be made up for when this agent becomes active.
    """

    def __init__(self, gate: Gate, sandboxes: Sandboxes, active: ActiveAgent, clock: Clock) -> None:
        self._gate = gate
        self._sandboxes = sandboxes
        self._active = active
        self._clock = clock
        self._running: dict[str, Sandbox] = {}

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        """Learn all running sandboxes."""
        self._running = {sandbox.id: sandbox for sandbox in sandboxes}
        if self._gate.mode is Mode.OPEN:
            async with self._gate.operation("learn the sandboxes"):
                await self._sandboxes.synchronize(sandboxes)

    async def resynchronize(self) -> None:
        """Make up for what the runtime told while this agent was not active."""
        await self.synchronize(list(self._running.values()))

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Attach the pod's devices within ``budget`` seconds."""
        self._running[sandbox.id] = sandbox
        await self._tell(f"attach to {sandbox}", sandbox, budget, lambda agent: agent.run_sandbox)

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Detach the devices of the sandbox."""
        self._running.pop(sandbox.id, None)
        await self._tell(f"detach from {sandbox}", sandbox, budget, lambda agent: agent.stop_sandbox)

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Forget the sandbox."""
        self._running.pop(sandbox.id, None)
        await self._tell(f"forget {sandbox}", sandbox, budget, lambda agent: agent.remove_sandbox)

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        """Give the reason why the container must not be created yet, or None.

        Where this agent is not active, the active one is asked; without its answer the container has to wait.
        """
        if self._gate.mode is Mode.OPEN:
            return await self._sandboxes.create_container(sandbox, container)
        question = asyncio.ensure_future(self._may_create(sandbox, container))
        try:
            if await finished(self._clock, CONTAINER_WITHIN, question):
                return question.result()
        except Unavailable as error:
            return f"{sandbox}: the active agent cannot be asked about container {container.name}: {error}"
        finally:
            question.cancel()
        return f"{sandbox}: container {container.name} waits until the agents of this node have handed over"

    async def _may_create(self, sandbox: Sandbox, container: Container) -> str | None:
        if await self._gate.settled() is Mode.OPEN:
            return await self._sandboxes.create_container(sandbox, container)
        return await self._active.container_gate(sandbox, container)

    async def _tell(self, name: str, sandbox: Sandbox, budget: float, event: _Event) -> None:
        """Have it done by the active agent, whichever that is, as far as the budget allows."""
        due = self._clock.monotonic() + budget
        if self._gate.mode is Mode.CLOSED:
            await self._within(budget, self._gate.settled())
        left = due - self._clock.monotonic()
        if self._gate.mode is Mode.OPEN:
            async with self._gate.operation(name):
                await event(self._sandboxes)(sandbox, left)
        elif self._gate.mode is Mode.ELSEWHERE:
            await self._within(left, self._hand_on(name, sandbox, left, event))

    async def _within(self, seconds: float, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.ensure_future(work)
        try:
            await finished(self._clock, seconds, task)
        finally:
            task.cancel()

    async def _hand_on(self, name: str, sandbox: Sandbox, budget: float, event: _Event) -> None:
        try:
            await event(self._active)(sandbox, budget)
        except Unavailable as error:
            logger.info("{}: handed on, and not answered: {}", name, error)


class LocalServices:
    """What a passive agent has done by this one. Raises ``NotActive`` instead of handing it on once more.

    It may be handed on before the devices of this node are known; ``scanned`` waits until they are.
    """

    def __init__(
        self, gate: Gate, claims: Claims, sandboxes: Sandboxes, scanned: Callable[[], Awaitable[None]]
    ) -> None:
        self._gate = gate
        self._claims = claims
        self._sandboxes = sandboxes
        self._scanned = scanned

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare a batch."""
        await self._scanned()
        async with self._gate.operation(f"prepare {_names(claims)}"):
            return await self._claims.prepare(claims)

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare a batch."""
        async with self._gate.operation(f"unprepare {_names(claims)}"):
            return await self._claims.unprepare(claims)

    async def container_gate(self, sandbox: Sandbox, container: Container) -> str | None:
        """Give the reason why the container must not be created yet, or None."""
        async with self._gate.operation(f"create container {container.name} of {sandbox}"):
            return await self._sandboxes.create_container(sandbox, container)

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Attach the pod's devices."""
        async with self._at_once(f"attach to {sandbox}"):
            await self._sandboxes.run_sandbox(sandbox, budget)

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Detach the devices of the sandbox."""
        async with self._at_once(f"detach from {sandbox}"):
            await self._sandboxes.stop_sandbox(sandbox, budget)

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Forget the sandbox."""
        async with self._at_once(f"forget {sandbox}"):
            await self._sandboxes.remove_sandbox(sandbox, budget)

    @asynccontextmanager
    async def _at_once(self, name: str) -> AsyncIterator[None]:
        """Run the block as an operation, or raise ``NotActive``: what a sandbox did is not to be heard of later."""
        if self._gate.mode is not Mode.OPEN:
            raise NotActive(f"{name}: this agent is not the active one of this node now")
        async with self._gate.operation(name):
            yield


def _names(claims: Sequence[ClaimRef]) -> str:
    return ", ".join(map(str, claims)) or "nothing"
