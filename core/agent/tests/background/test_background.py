"""Background work goes on, and ends when it is told to."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.background import LAST_PAUSE, Background, unless
from dragoman_testkit.fakes.clock import VirtualClock


class Fragile:
    """Fails at so many beginnings, then runs until it is cancelled."""

    def __init__(self, failures: int) -> None:
        self.began = 0
        self.cancelled = False
        self._failures = failures

    async def run(self) -> None:
        self.began += 1
        if self.began <= self._failures:
            raise ZeroDivisionError("a fault of the program")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def test_work_that_fails_begins_again_until_it_holds() -> None:
    clock, work = VirtualClock(), Fragile(failures=3)
    background = Background(clock)
    background.begin(work.run)
    await clock.settle()
    assert work.began == 1
    await clock.advance(1 + 2 + 4)
    assert work.began == 4
    await background.end()
    assert work.cancelled


async def test_work_that_always_fails_is_tried_once_a_minute_in_the_end_and_ends_when_told() -> None:
    clock, work = VirtualClock(), Fragile(failures=1000)
    background = Background(clock)
    background.begin(work.run)
    await clock.advance(3600)
    before = work.began
    await clock.advance(10 * LAST_PAUSE)
    assert work.began - before == 10
    await background.end()
    await clock.advance(3600)
    assert work.began - before == 10


async def test_work_that_has_ended_is_over_and_other_work_goes_on() -> None:
    clock, work, done = VirtualClock(), Fragile(failures=0), []

    async def short() -> None:
        done.append("short")

    background = Background(clock)
    background.begin(short, work.run)
    await clock.advance(600)
    assert (done, work.began, work.cancelled) == (["short"], 1, False)
    await background.end()
    assert work.cancelled


async def test_work_that_is_stopped_before_its_end_is_cancelled_and_what_it_raises_is_raised() -> None:
    stopped, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        try:
            stopped.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fail() -> None:
        raise RuntimeError("no access")

    async def succeed() -> None:
        pass

    assert await unless(asyncio.Event(), succeed())
    with pytest.raises(RuntimeError, match="no access"):
        await unless(asyncio.Event(), fail())
    assert not await unless(stopped, wait())
    assert ended.is_set()
