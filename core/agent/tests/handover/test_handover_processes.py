"""Several real agents: processes with flock, SQLite and sockets, of which some are killed or frozen."""

from __future__ import annotations

import asyncio

import pytest

from .processes import Agents

CLAIM = {"uid": "u1", "namespace": "default", "name": "c1"}


async def test_a_newcomer_takes_over_and_the_old_agent_hands_its_calls_on(agents: Agents) -> None:
    old = await agents.start("old")
    assert await old.ask("prepare", CLAIM) == {"u1": {"devices": [], "error": "by old"}}
    new = await agents.start("new")
    assert [await old.state(), await new.state()] == ["passive", "active"]
    assert await old.ask("unprepare", CLAIM) == await new.ask("unprepare", CLAIM) == {"u1": "prepared by old"}
    assert await old.ask("prepare", CLAIM) == {"u1": {"devices": [], "error": "by new"}}
    assert await old.ask("container") == "refused by new"


@pytest.mark.parametrize("step", ["open_ledger", "recover"])
async def test_calls_wait_for_a_newcomer_that_dies_on_its_way_and_are_then_done_by_the_old_agent(
    agents: Agents, step: str
) -> None:
    old = await agents.start("old")
    new = await agents.start("new", hang_in=step, until=step)
    assert await old.state() == "passive"
    waiting = asyncio.create_task(old.ask("prepare", CLAIM))
    assert "waits until the agents of this node have handed over" in await old.ask("container")
    assert not waiting.done()
    await new.kill()
    assert await waiting == {"u1": {"devices": [], "error": "by old"}}
    assert [await old.state(), await old.ask("container")] == ["active", "refused by old"]


async def test_calls_are_handed_on_to_a_newcomer_that_has_recovered_and_done_by_the_old_agent_if_it_dies_then(
    agents: Agents,
) -> None:
    old = await agents.start("old")
    new = await agents.start("new", hang_in="become_active", until="become_active")
    assert await old.ask("prepare", CLAIM) == {"u1": {"devices": [], "error": "by new"}}
    await new.kill()
    assert await old.ask("prepare", CLAIM) == {"u1": {"devices": [], "error": "by old"}}
    assert await old.state() == "active"


async def test_the_old_agent_takes_the_lock_back_when_the_active_one_is_killed(agents: Agents) -> None:
    old = await agents.start("old")
    new = await agents.start("new")
    await new.ask("prepare", CLAIM)
    await new.kill()
    assert await old.ask("unprepare", CLAIM) == {"u1": "prepared by new"}
    assert await old.state() == "active"
    again = await agents.start("again")
    assert [await old.state(), await again.state()] == ["passive", "active"]


async def test_three_agents_in_a_row_hand_over_and_the_first_two_both_find_the_active_one(agents: Agents) -> None:
    first = await agents.start("first")
    second = await agents.start("second")
    third = await agents.start("third")
    assert [await agent.state() for agent in (first, second, third)] == ["passive", "passive", "active"]
    for agent in (first, second, third):
        assert await agent.ask("prepare", CLAIM) == {"u1": {"devices": [], "error": "by third"}}


async def test_a_newcomer_waits_for_a_frozen_agent_with_a_reason_until_that_is_killed(agents: Agents) -> None:
    old = await agents.start("old")
    old.freeze()
    new = await agents.start("new", until="started")
    await new.reaches("not answered")
    _, reason = await new.ask("state")
    assert reason.startswith("the lock of the node is held by process ")
    assert reason.endswith("control.sock did not answer within 1.0 s")
    await old.kill()
    await new.reaches("taken")
    assert await new.state() == "active"


async def test_an_agent_that_was_killed_leaves_nothing_in_the_way_of_the_next(agents: Agents) -> None:
    for name in ("first", "second"):
        agent = await agents.start(name)
        await agent.ask("prepare", CLAIM)
        await agent.kill()
    last = await agents.start("last")
    assert await last.ask("unprepare", CLAIM) == {"u1": "prepared by second"}
