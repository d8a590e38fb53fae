"""One program of a node: started, waited for, paused, killed, started again."""

from __future__ import annotations

import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.cluster.spaces import Spaces
from tests.cluster.tools import Failed, environment
from tests.cluster.waiting import PATIENCE, until


class Part:
    """A program with one log over all its lives. ``ready`` tells whether it does its work.

    ``env``: variables beside those of this process, from its next start.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        ready: Callable[[], object] = lambda: True,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._ready = ready
        self.env = dict(env or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Give its process id, as this machine sees it, while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def launch(self, spaces: Spaces) -> None:
        """Start it, ready or not."""
        assert self.pid is None, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self._process = spaces.start(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(**self.env),
                start_new_session=True,  # Ctrl-C in a terminal is for the tests, which end the node in order
            )

    def wait_ready(self, limit: float = PATIENCE) -> None:
        """Wait until it is ready. Raises ``Failed`` when it ends before, or in time is not."""

        def look() -> bool:
            if self.pid is None:
                assert self._process, f"{self.name} was never started"
                last = "\n".join(self.tail(8))
                raise Failed(f"{self.name} ended with exit code {self._process.returncode}:\n{last}")
            return bool(self._ready())

        until(look, f"{self.name} is ready", limit)

    def start(self, spaces: Spaces, limit: float = PATIENCE) -> None:
        """Start it and wait until it is ready."""
        self.launch(spaces)
        self.wait_ready(limit)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; SIGSTOP freezes it, SIGCONT lets it go on."""
        assert self._process, f"{self.name} was never started"
        self._process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGKILL, limit: float = 60.0) -> int:
        """Send it a signal that ends it, and give its exit code; nothing happens where it does not run."""
        assert self._process, f"{self.name} was never started"
        self.send(number)
        try:
            return self._process.wait(limit)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{self.name} did not end within {limit:g} s of {number.name}") from error

    def wait_gone(self, limit: float = 60.0) -> None:
        """Wait for an end that another has brought about."""
        if self._process:
            self._process.wait(limit)

    def tail(self, lines: int) -> list[str]:
        """Give the last lines of its log."""
        if not self.log.exists():
            return []
        with self.log.open(errors="replace") as log:
            return [line.rstrip("\n") for line in deque(log, lines)]
