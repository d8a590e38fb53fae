"""Real agents as processes, with flock, SQLite and sockets, of which some are killed or frozen."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.control.client import call

SCRIPT = Path(__file__).with_name("agent_process.py")
PATIENCE = 60


class Process:
    """An agent in a process of its own."""

    def __init__(self, folder: Path, name: str, process: asyncio.subprocess.Process) -> None:
        self._socket = folder / f"{name}.sock"
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def reaches(self, step: str) -> None:
        """Wait until the agent prints a step."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while (line := await self._process.stdout.readline()) != step.encode() + b"\n":
                assert line, f"the agent ended before {step}"

    async def ends(self) -> tuple[int | None, str]:
        """Wait until the agent has ended, and give its exit code and what it wrote to stderr."""
        async with asyncio.timeout(PATIENCE):
            _, told = await self._process.communicate()
        return self._process.returncode, told.decode()

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Ask the agent itself, active or not."""
        return await call(self._socket, method, params, seconds=PATIENCE)

    async def state(self) -> str:
        return str((await self.ask("state"))[0])

    async def kill(self) -> None:
        self._process.kill()
        await self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)


class Agents:
    """Starts agents on one state folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.started: list[asyncio.subprocess.Process] = []

    async def start(self, name: str, hang_in: str = "", until: str = "taken", under: Sequence[str] = ()) -> Process:
        """Start an agent, by a command that runs the one behind it if ``under`` has one, and wait for a step."""
        command = [*under, sys.executable, str(SCRIPT), str(self._folder), name, hang_in]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe if under else None)
        self.started.append(process)
        agent = Process(self._folder, name, process)
        await agent.reaches(until)
        return agent
