from __future__ import annotations

import asyncio

from dragoman_testkit.fakes.clock import VirtualClock


async def test_time_stands_still_until_it_is_advanced() -> None:
    clock = VirtualClock(epoch=100.0)
    await clock.settle()
    assert (clock.now(), clock.monotonic()) == (100.0, 0.0)
    await clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 2.5)


async def test_sleepers_wake_in_the_order_of_their_deadlines_at_their_own_instant() -> None:
    clock = VirtualClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        for name, seconds in (("late", 3.0), ("early", 1.0), ("also early", 1.0), ("middle", 2.0)):
            group.create_task(sleeper(name, seconds))
        await clock.advance(3)
    assert woken == [("early", 1.0), ("also early", 1.0), ("middle", 2.0), ("late", 3.0)]


async def test_a_sleeper_whose_deadline_is_not_reached_stays_asleep() -> None:
    clock = VirtualClock()
    task = asyncio.create_task(clock.sleep(1))
    await clock.advance(0.999)
    assert not task.done()
    await clock.advance(0.001)
    assert task.done()


async def test_a_loop_that_sleeps_again_runs_as_often_as_the_span_holds() -> None:
    clock = VirtualClock()
    ticks: list[float] = []

    async def ticker() -> None:
        while True:
            await clock.sleep(10)
            ticks.append(clock.monotonic())

    task = asyncio.create_task(ticker())
    await clock.advance(35)
    assert ticks == [10.0, 20.0, 30.0]
    task.cancel()
    await clock.settle()
    assert task.cancelled()


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = VirtualClock()
    task = asyncio.create_task(clock.sleep(5))
    await clock.settle()
    assert clock.pending() == 1
    task.cancel()
    await clock.settle()
    assert clock.pending() == 0
    await clock.advance(10)
    assert task.cancelled()


async def test_sleeping_for_no_time_only_yields() -> None:
    clock = VirtualClock()
    await clock.sleep(0)
    await clock.sleep(-1)
    assert clock.monotonic() == 0.0
