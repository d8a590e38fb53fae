"""The agent as a process of its own, as it runs on a node: started, waited for, killed, stopped."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections import deque
from pathlib import Path
from typing import Any

from dragoman.control import client
from dragoman_hookspecs import DragomanError, JsonObject

_LOOK = 0.05
"""Seconds between looks at the control socket."""


class AgentFailed(DragomanError):
    """The agent ended, or was not ready in time."""


class AgentProcess:
    """One agent at a time, with one settings file and one log, which grows over its lives.

    ``environ``: variables that it gets beside those of this process.
    """

    def __init__(self, *, settings: Path, log: Path, control: Path) -> None:
        self.log = log
        self.environ: dict[str, str] = {}
        self._settings = settings
        self._control = control
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Give its process id while it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self, limit: float = 60.0) -> JsonObject:
        """Start it and wait until it is ready; give its status. Raises ``AgentFailed``."""
        await self.launch()
        return await self.ready(limit)

    async def launch(self) -> None:
        """Start it, ready or not."""
        assert self.pid is None, "the agent runs already"
        command = [sys.executable, "-m", "dragoman", "--config", str(self._settings), "agent"]
        if setpriv := shutil.which("setpriv"):
            # It must not outlive a sandbox that is killed.
            command = [setpriv, "--pdeathsig", "KILL", "--", *command]
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Settings of the caller's environment are not this node's.
                env={n: value for n, value in os.environ.items() if not n.startswith("DRAGOMAN_")} | self.environ,
                # Ctrl-C in a terminal is for the sandbox, which ends the agent in order.
                start_new_session=True,
            )

    async def ready(self, limit: float = 60.0) -> JsonObject:
        """Wait until it says that it is ready. Raises ``AgentFailed``."""
        why = "it does not answer"
        try:
            async with asyncio.timeout(limit):
                while True:
                    self._check_alive()
                    try:
                        status: JsonObject = await self.ask("status")
                    except DragomanError as error:
                        why = str(error)
                    else:
                        if status["ready"] and status["pid"] == self.pid:
                            return status
                        why = status["reason"] or f"process {status['pid']} answers in its place"
                    await asyncio.sleep(_LOOK)
        except TimeoutError as error:
            raise AgentFailed(f"the agent is not ready after {limit} s: {why}") from error

    async def ask(self, method: str, params: JsonObject | None = None) -> Any:
        """Ask it over its control socket. Raises ``DragomanError``."""
        return await client.call(self._control, method, params, seconds=30.0)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal: SIGHUP has it read its settings again, SIGUSR1 write its stacks."""
        assert self._process is not None, "the agent was never started"
        self._process.send_signal(number)

    async def kill(self) -> None:
        """End it as a node's death would: SIGKILL."""
        await self._end(signal.SIGKILL, 30.0)

    async def terminate(self, limit: float = 30.0) -> int:
        """Ask it to end, SIGTERM, and give its exit code. Raises ``AgentFailed`` if it does not end in time."""
        return await self._end(signal.SIGTERM, limit)

    async def wait(self) -> int:
        """Wait for its end, and give its exit code."""
        assert self._process is not None, "the agent was never started"
        return await self._process.wait()

    async def close(self) -> None:
        """End it if it runs: kindly, and at last not."""
        if self.pid is not None:
            try:
                await self.terminate(5.0)
            except AgentFailed:
                await self.kill()

    def log_tail(self, lines: int = 30) -> list[str]:
        """Give the last lines of its log."""
        if not self.log.exists():
            return []
        with self.log.open(errors="replace") as log:
            return [line.rstrip("\n") for line in deque(log, lines)]

    async def _end(self, number: signal.Signals, limit: float) -> int:
        self.send(number)
        try:
            return await asyncio.wait_for(self.wait(), limit)
        except TimeoutError as error:
            raise AgentFailed(f"the agent did not end within {limit} s of {number.name}") from error

    def _check_alive(self) -> None:
        if self._process and self._process.returncode is not None:
            last = "; ".join(self.log_tail(3))
            raise AgentFailed(f"the agent ended with exit code {self._process.returncode}: {last}")
