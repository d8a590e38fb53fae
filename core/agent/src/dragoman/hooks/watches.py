"""Watch hooks: each in a thread of its own, started again with back-off when it returns early or raises."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from dragoman.schema.faults import described

FIRST, MOST = 1.0, 60.0
"""Seconds before the first new attempt, doubled up to the most; a watch that held longer than that begins anew."""
RETURNED = "returned although it was not stopped"


class WatchClock(Protocol):
    """Time as the thread of a watch sees it."""

    def monotonic(self) -> float:
        """Give seconds of a clock that never goes back."""

    def wait(self, stopped: threading.Event, seconds: float) -> None:
        """Wait, but not longer than until ``stopped``."""


class RealClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Give the time."""
        return time.monotonic()

    def wait(self, stopped: threading.Event, seconds: float) -> None:
        """Wait."""
        stopped.wait(seconds)


class Watch:
    """One watch hook that is kept running. ``failed(reason)`` is called in its thread each time that it ends early."""

    def __init__(
        self,
        name: str,
        function: Callable[[threading.Event], object],
        failed: Callable[[str], None],
        clock: WatchClock,
    ) -> None:
        self._function = function
        self._failed = failed
        self._clock = clock
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep_running, name=f"dragoman {name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def run_once(self) -> None:
        """Call the hook in this thread, where it has to return; a failure is told and not repeated."""
        reason = self._run()
        if reason != RETURNED:
            self._failed(reason)

    def stop(self) -> None:
        """Tell the hook to return; nobody waits for it."""
        self._stopped.set()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the thread; tells whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _keep_running(self) -> None:
        delay = FIRST
        while not self._stopped.is_set():
            began = self._clock.monotonic()
            reason = self._run()
            if self._stopped.is_set():
                return
            self._failed(reason)
            delay = FIRST if self._clock.monotonic() - began > MOST else delay
            self._clock.wait(self._stopped, delay)
            delay = min(2 * delay, MOST)

    def _run(self) -> str:
        try:
            self._function(self._stopped)
        except BaseException as error:  # noqa: BLE001  # a plugin may even raise SystemExit
            return f"raised {described(error)}"
        return RETURNED
