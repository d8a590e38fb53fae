"""Watch hooks: their reports reach the event loop, and they are started again when they end."""

from __future__ import annotations

import asyncio
import threading
from queue import Queue
from typing import Any

from dragoman_hookspecs import Health, HealthReport

REPORT = HealthReport(device="dev0", health=Health.HEALTHY)


class Clock:
    """A clock whose pauses end when a test gives their end."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: Queue[float] = Queue()
        self._go = threading.Semaphore(0)

    def monotonic(self) -> float:
        return self.now

    def wait(self, stopped: threading.Event, seconds: float) -> None:
        self.pauses.put(seconds)
        while not self._go.acquire(timeout=0.01):
            if stopped.is_set():
                return

    def let_go(self) -> None:
        self._go.release()


async def pause_of(clock: Clock) -> float:
    return await asyncio.to_thread(clock.pauses.get, timeout=60)


def until_stopped(request: Any) -> None:
    request.stopped.wait(60)


def queues(node: Any) -> tuple[asyncio.Queue[str], asyncio.Queue[Any]]:
    changes: asyncio.Queue[str] = asyncio.Queue()
    health: asyncio.Queue[Any] = asyncio.Queue()
    node.hooks.on_change(changes.put_nowait)
    node.hooks.on_health(lambda type_, reports: health.put_nowait((type_, reports)))
    return changes, health


async def test_hints_and_health_reach_the_event_loop_from_threads_of_their_own(make: Any) -> None:
    node = make(dummy="watching")
    changes, health = queues(node)
    threads: list[threading.Thread] = []

    def watch_devices(request: Any) -> None:
        threads.append(threading.current_thread())
        request.changed()
        request.stopped.wait(60)

    def watch_health(request: Any) -> None:
        threads.append(threading.current_thread())
        request.report([REPORT])
        request.stopped.wait(60)

    node.script("dummy", "watch_devices", watch_devices)
    node.script("dummy", "watch_health", watch_health)
    assert node.hooks.has_health("dummy")
    await node.hooks.start()
    assert [await changes.get(), await changes.get()] == ["dummy", "dummy"], "one for the start, one for the hint"
    assert await health.get() == ("dummy", (REPORT,))
    assert len({threading.current_thread(), *threads}) == 3
    await node.hooks.stop()
    for thread in threads:
        await asyncio.to_thread(thread.join, 60)
        assert not thread.is_alive()


async def test_a_watch_that_ends_is_started_again_with_growing_pauses_and_a_hint_to_scan(make: Any) -> None:
    clock = Clock()
    node = make(dummy="watching", watch_clock=clock)
    changes, _ = queues(node)
    ends = iter(["return", "raise", "exit", "hold"])

    def watch_devices(request: Any) -> None:
        match next(ends):
            case "raise":
                raise OSError("lost the socket")
            case "exit":
                raise SystemExit
            case "hold":
                request.stopped.wait(60)

    node.script("dummy", "watch_devices", watch_devices)
    node.script("dummy", "watch_health", until_stopped)
    await node.hooks.start()
    for expected in (1, 2, 4):
        assert await changes.get() == "dummy"
        assert await pause_of(clock) == expected
        clock.let_go()
    assert await changes.get() == "dummy"


async def test_a_watch_that_held_for_long_begins_with_the_first_pause_again(make: Any) -> None:
    clock = Clock()
    node = make(dummy="watching", watch_clock=clock)

    def watch_devices(request: Any) -> None:
        clock.now += 61
        raise OSError

    node.script("dummy", "watch_devices", watch_devices)
    node.script("dummy", "watch_health", until_stopped)
    await node.hooks.start()
    for _ in range(3):
        assert await pause_of(clock) == 1
        clock.let_go()


async def test_a_health_watch_that_fails_makes_health_unknown_until_it_reports_again(make: Any) -> None:
    clock = Clock()
    node = make(dummy="watching", watch_clock=clock)
    _, health = queues(node)
    steps = iter([OSError("probe lost"), None])

    def watch_health(request: Any) -> None:
        if error := next(steps):
            raise error
        request.report([REPORT])
        request.stopped.wait(60)

    node.script("dummy", "watch_devices", until_stopped)
    node.script("dummy", "watch_health", watch_health)
    await node.hooks.start()
    assert await health.get() == ("dummy", None)
    await pause_of(clock)
    clock.let_go()
    assert await health.get() == ("dummy", (REPORT,))


async def test_a_report_that_is_no_health_fails_the_watch_that_made_it(make: Any) -> None:
    clock = Clock()
    node = make(dummy="watching", watch_clock=clock)
    _, health = queues(node)
    node.script("dummy", "watch_devices", until_stopped)
    node.script("dummy", "watch_health", lambda request: request.report([{"device": "dev0"}]))
    await node.hooks.start()
    assert await health.get() == ("dummy", None)


async def test_inline_watches_are_called_once_and_may_keep_their_callbacks(make: Any) -> None:
    node = make(dummy="watching", inline=True)
    changes, health = queues(node)
    kept: list[Any] = []
    node.script("dummy", "watch_devices", kept.append)
    node.script("dummy", "watch_health", kept.append)
    before = set(threading.enumerate())
    await node.hooks.start()
    assert set(threading.enumerate()) <= before
    kept[0].changed()
    kept[1].report([REPORT])
    assert [await changes.get(), await changes.get()] == ["dummy", "dummy"]
    assert await health.get() == ("dummy", (REPORT,))


async def test_reports_after_stop_reach_nobody(make: Any) -> None:
    node = make(dummy="watching", inline=True)
    changes, health = queues(node)
    kept: list[Any] = []
    node.script("dummy", "watch_devices", kept.append)
    node.script("dummy", "watch_health", kept.append)
    await node.hooks.start()
    await changes.get()
    await node.hooks.stop()
    kept[0].changed()
    kept[1].report([REPORT])
    await asyncio.sleep(0)
    assert changes.empty()
    assert health.empty()
