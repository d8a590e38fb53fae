"""A value that others can wait on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from dragoman.clock import Clock

Value = TypeVar("Value")


class Observed(Generic[Value]):
    """Holds the latest value. A waiter may miss values in between, never the last one."""

    def __init__(self, value: Value) -> None:
        self._value = value
        self._changed = asyncio.Event()

    @property
    def value(self) -> Value:
        """The latest value."""
        return self._value

    def set(self, value: Value) -> None:
        """Replace the value and wake those who wait."""
        self._value = value
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait(self, wanted: Callable[[Value], bool]) -> Value:
        """Wait until the value is as wanted, and give it."""
        while not wanted(self._value):
            await self._changed.wait()
        return self._value


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, Any]) -> bool:
    """Tell whether the work ended within so many seconds of the clock; it is cancelled if not.

    Raises what the work raises.
    """
    tasks = asyncio.ensure_future(work), asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        done = tasks[0].done()
        if done:
            tasks[0].result()
        return done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
