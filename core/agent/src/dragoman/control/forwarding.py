"""What a passive agent has done by the active one: DRA calls, and what the runtime tells of pods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from dragoman.control.client import call
from dragoman.control.messages import RemoteError
from dragoman.control.server import Call, Handler
from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman.model.errors import Unavailable
from dragoman.model.sandboxes import Container, Sandbox

T = TypeVar("T")


class LocalServices(Protocol):
    """What the active agent does itself. Raises ``Unavailable`` where it is not the active one."""

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Prepare a batch."""

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare a batch."""

    async def container_gate(self, sandbox: Sandbox, container: Container) -> str | None:
        """Give the reason why the container must not be created yet, or None."""

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Attach the pod's devices."""

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Detach the devices of the sandbox."""

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Forget the sandbox."""


class ActiveAgent:
    """The active agent of the node, found by its control socket. Every method raises ``Unavailable``.

    There is no limit of time: each caller has a deadline of its own, and a dead agent is noticed by its connection.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Have a batch prepared."""
        return await self._ask("prepare", {"claims": claims}, dict[str, PrepareAnswer])

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Have a batch unprepared."""
        return await self._ask("unprepare", {"claims": claims}, dict[str, str])

    async def container_gate(self, sandbox: Sandbox, container: Container) -> str | None:
        """Ask why the container must not be created yet; None where it may."""
        params = {"sandbox": sandbox, "container": container}
        return await self._ask("container_gate", params, str | None)  # type: ignore[arg-type] # a union is no type[T]

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Have the pod's devices attached within ``budget`` seconds."""
        await self._ask("run_sandbox", {"sandbox": sandbox, "budget": budget}, dict)

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Have the devices of the sandbox detached within ``budget`` seconds."""
        await self._ask("stop_sandbox", {"sandbox": sandbox, "budget": budget}, dict)

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Have the sandbox forgotten."""
        await self._ask("remove_sandbox", {"sandbox": sandbox, "budget": budget}, dict)

    async def _ask(self, method: str, params: dict[str, Any], answer: type[T]) -> T:
        try:
            return msgspec.convert(await call(self._path, method, params), answer)
        except (RemoteError, msgspec.ValidationError) as error:
            raise Unavailable(f"the active agent did not {method.replace('_', ' ')}: {error}") from error


def handlers(services: LocalServices) -> Mapping[str, Handler]:
    """Give the methods that ``ActiveAgent`` calls."""

    async def prepare(call: Call) -> object:
        return await services.prepare(_param(call, "claims", list[ClaimRef]))

    async def unprepare(call: Call) -> object:
        return await services.unprepare(_param(call, "claims", list[ClaimRef]))

    async def container_gate(call: Call) -> object:
        return await services.container_gate(_param(call, "sandbox", Sandbox), _param(call, "container", Container))

    def event(serve: Callable[[Sandbox, float], Awaitable[None]]) -> Handler:
        async def happen(call: Call) -> object:
            await serve(_param(call, "sandbox", Sandbox), _param(call, "budget", float))
            return {}

        return happen

    return {
        "prepare": prepare,
        "unprepare": unprepare,
        "container_gate": container_gate,
        "run_sandbox": event(services.run_sandbox),
        "stop_sandbox": event(services.stop_sandbox),
        "remove_sandbox": event(services.remove_sandbox),
    }


def _param(call: Call, name: str, type_: type[T]) -> T:
    try:
        return msgspec.convert(call.params.get(name), type_)
    except msgspec.ValidationError as error:
        raise Unavailable(f"parameter {name} cannot be read: {error}") from error
