"""The gate: who passes, who waits, who is refused, and when the last operation has ended."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engine.gate import Gate, Mode, NotActive, StillRunning
from dragoman_testkit.fakes.clock import VirtualClock


class Work:
    """An operation that runs until it is released."""

    def __init__(self, gate: Gate, name: str = "prepare claim default/c1") -> None:
        self.entered = asyncio.Event()
        self.release = asyncio.Event()
        self.task = asyncio.create_task(self._run(gate, name))

    async def _run(self, gate: Gate, name: str) -> None:
        async with gate.operation(name):
            self.entered.set()
            await self.release.wait()


async def test_a_gate_is_closed_until_it_is_opened_and_then_lets_in_who_waits() -> None:
    clock, gate = VirtualClock(), Gate()
    work = Work(gate)
    await clock.settle()
    assert (gate.mode, work.entered.is_set()) == (Mode.CLOSED, False)
    gate.open()
    await clock.settle()
    assert work.entered.is_set()
    work.release.set()
    await work.task


async def test_a_closed_gate_does_not_stop_what_runs_and_holds_what_comes() -> None:
    clock, gate = VirtualClock(), Gate()
    gate.open()
    running = Work(gate)
    await running.entered.wait()
    gate.close()
    waiting = Work(gate)
    draining = asyncio.create_task(gate.drain(clock, 20))
    await clock.advance(19)
    assert not draining.done()
    running.release.set()
    await clock.settle()
    assert draining.done()
    assert not waiting.entered.is_set()
    waiting.task.cancel()


async def test_a_drain_that_takes_too_long_names_what_runs() -> None:
    clock, gate = VirtualClock(), Gate()
    gate.open()
    slow, slower, quick = (Work(gate, name) for name in ("slow", "slower", "quick"))
    await quick.entered.wait()
    draining = asyncio.create_task(gate.drain(clock, 20))
    await clock.advance(10)
    quick.release.set()
    await clock.advance(10)
    with pytest.raises(StillRunning, match=r"not ended within 20 s: slow, slower$"):
        await draining
    for work in (slow, slower):
        work.release.set()
        await work.task


async def test_an_operation_that_fails_or_is_cancelled_has_ended() -> None:
    clock, gate = VirtualClock(), Gate()
    gate.open()

    async def fail() -> None:
        async with gate.operation("fails"):
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    work = Work(gate)
    await work.entered.wait()
    work.task.cancel()
    await asyncio.wait({work.task})
    await gate.drain(clock, 0)


async def test_elsewhere_refuses_new_ones_and_those_that_wait() -> None:
    clock, gate = VirtualClock(), Gate()
    waiting = Work(gate)
    await clock.settle()
    gate.elsewhere()
    for work in (waiting, Work(gate)):
        with pytest.raises(NotActive, match="prepare claim default/c1: another agent"):
            await work.task


async def test_one_that_waits_longer_than_its_caller_gives_up() -> None:
    gate = Gate()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(Work(gate).task, 0)


async def test_an_operation_within_an_operation_passes_while_a_drain_waits_for_the_outer_one() -> None:
    clock, gate = VirtualClock(), Gate()
    gate.open()
    proceed, inner_done = asyncio.Event(), asyncio.Event()

    async def inner() -> None:
        async with gate.operation("inner"):
            inner_done.set()

    async def outer() -> None:
        async with gate.operation("outer"):
            await proceed.wait()
            await inner()
            await asyncio.create_task(inner())

    task = asyncio.create_task(outer())
    await clock.settle()
    gate.close()
    draining = asyncio.create_task(gate.drain(clock, 20))
    proceed.set()
    await clock.settle()
    assert draining.done()
    assert inner_done.is_set()
    await task


async def test_a_task_that_outlives_its_operation_waits_like_any_other() -> None:
    clock, gate = VirtualClock(), Gate()
    gate.open()
    proceed = asyncio.Event()

    async def later() -> None:
        await proceed.wait()
        async with gate.operation("later"):
            pass

    async with gate.operation("first"):
        task = asyncio.create_task(later())
    gate.close()
    proceed.set()
    await clock.settle()
    assert not task.done()
    gate.open()
    await task


async def test_recovery_passes_the_closed_gate_with_its_operations_and_nobody_else_does() -> None:
    clock, gate = VirtualClock(), Gate()
    async with gate.exclusive("recovery"):
        async with gate.operation("free claim default/c1"):
            pass
        async with gate.operation("free claim default/c2"):
            pass
    other = Work(gate)
    await clock.settle()
    assert not other.entered.is_set()
    other.task.cancel()


async def test_the_tickets_of_two_gates_are_not_mixed_up() -> None:
    clock, first, second = VirtualClock(), Gate(), Gate()
    first.open()
    async with first.operation("here"):
        work = Work(second)
        await clock.settle()
        assert not work.entered.is_set()
        work.task.cancel()
