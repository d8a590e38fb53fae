"""Locks that many share: who waits for whom."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

from dragoman.engine.waiting import SharedLocks


class Visitor:
    """Goes inside as soon as it may, and stays until told to leave."""

    def __init__(self, lock: AbstractAsyncContextManager[None]) -> None:
        self.inside = asyncio.Event()
        self._leave = asyncio.Event()
        self._task = asyncio.create_task(self._visit(lock))

    async def _visit(self, lock: AbstractAsyncContextManager[None]) -> None:
        async with lock:
            self.inside.set()
            await self._leave.wait()

    async def leave(self) -> None:
        self._leave.set()
        await self._task


async def is_inside(visitor: Visitor) -> bool:
    for _ in range(20):
        await asyncio.sleep(0)
    return visitor.inside.is_set()


async def test_who_is_alone_for_a_key_holds_back_only_those_of_that_key() -> None:
    locks = SharedLocks()
    recovering = Visitor(locks.alone("dummy"))
    same, other, both = (Visitor(locks.together(keys)) for keys in ({"dummy"}, {"macvlan"}, {"macvlan", "dummy"}))

    assert await is_inside(recovering)
    assert [await is_inside(each) for each in (same, other, both)] == [False, True, False]

    await recovering.leave()
    assert [await is_inside(each) for each in (same, other, both)] == [True, True, True]
    for each in (same, other, both):
        await each.leave()


async def test_who_is_alone_waits_for_those_inside_and_comes_before_later_ones() -> None:
    locks = SharedLocks()
    first = Visitor(locks.together({"dummy"}))
    assert await is_inside(first)
    alone = Visitor(locks.alone("dummy"))
    assert not await is_inside(alone)
    later = Visitor(locks.together({"dummy"}))
    assert not await is_inside(later)

    await first.leave()
    assert await is_inside(alone)
    assert not await is_inside(later)
    await alone.leave()
    await later.leave()


async def test_all_alone_waits_for_every_key_and_holds_back_every_key() -> None:
    locks = SharedLocks()
    visitors = [Visitor(locks.together({"dummy"})), Visitor(locks.alone("macvlan")), Visitor(locks.together(()))]
    assert [await is_inside(each) for each in visitors] == [True, True, True]
    alone = Visitor(locks.all_alone())
    for each in visitors:
        assert not await is_inside(alone)
        await each.leave()
    assert await is_inside(alone)
    later = [Visitor(locks.together({"dummy"})), Visitor(locks.alone("other")), Visitor(locks.together(()))]
    assert [await is_inside(each) for each in later] == [False, False, False]
    await alone.leave()
    for each in later:
        await each.leave()
