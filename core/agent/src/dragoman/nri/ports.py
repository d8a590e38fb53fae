"""What the NRI edge asks of the engine, and of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dragoman.model.sandboxes import Container, Sandbox


class SandboxService(Protocol):
    """Moves devices with sandboxes. None of the calls raises, and each returns well within the budget given."""

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        """Learn all running sandboxes after (re)connecting; called after the runtime was answered."""

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Attach the pod's devices within ``budget`` seconds; what is not done by then goes on in the background."""

    async def stop_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Detach the devices of the sandbox."""

    async def remove_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Forget the sandbox; it may never have been stopped."""

    async def create_container(self, sandbox: Sandbox, container: Container) -> str | None:
        """Give the reason why the container must not be created yet, or None."""
