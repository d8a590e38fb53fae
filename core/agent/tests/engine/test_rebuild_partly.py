"""A new life of the agent whose ledger has a damaged row: that one is known again, and the others stand as they are."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from dragoman.engine.former import NotRebuilt
from dragoman.model.claims import Claim
from dragoman_testkit.fakes.node import FakeNode

from .rebuildworld import attached, begin, is_empty, prepared, rows, telling


def damage(node: FakeNode, table: str, device: str) -> None:
    """Change a row on the disk, so that it reads as another one."""
    node.ledger.close()
    with closing(sqlite3.connect(node.folder / "state" / "ledger.db")) as connection:
        connection.execute(
            f"UPDATE {table} SET document = replace(document, 'tag:', 'bag:') WHERE device = ?",
            (device,),
        )
        connection.commit()


def whereabouts(node: FakeNode) -> set[tuple[object, ...]]:
    return {(row.key, row.state, row.netns, str(row.snapshot)) for row in node.ledger.attachments()}


async def told_attached(node: FakeNode, *devices: str) -> Claim:
    claim = await prepared(node, "a", *devices)
    async with telling(node):
        await attached(node, claim)
    return claim


@pytest.mark.parametrize("table", ["allocations", "attachments"])
async def test_a_damaged_row_is_known_again_and_the_other_rows_stand(node: FakeNode, table: str) -> None:
    claim = await told_attached(node, "dummy0", "dummy1")
    untold = node.claim("b", "dummy2")
    assert (await node.prepare(untold)).error == ""
    before, inside = rows(node), whereabouts(node)
    damage(node, table, "dummy1")
    node = node.restart()
    assert [row.key.device for row in rows(node)] == ["dummy0", "dummy2"]
    task = await begin(node, node.sandbox(claim))
    assert task.done(), node.rebuilding.reason
    assert rows(node) == before
    assert whereabouts(node) == inside
    assert [call for call in node.hooks.calls if call.hook == "detach_device"] == []
    await node.sandboxes.stop_sandbox(node.sandbox(claim), 1)
    assert [await node.unprepare(each) for each in (claim, untold)] == ["", ""]
    assert await is_empty(node)


async def test_a_claim_that_lost_a_row_is_not_unprepared_by_half(node: FakeNode) -> None:
    claim = await prepared(node, "a", "dummy0", "dummy1")
    damage(node, "allocations", "dummy1")
    node.source.unreadable = {"a"}
    node = node.restart()
    task = await begin(node)
    with pytest.raises(NotRebuilt, match="default/a"):
        await node.parts.former.known(node.ledger, node.clock, claim.ref, 0)
    node.source.unreadable = set()
    await node.clock.advance(30)
    assert task.done()
    assert await node.unprepare(claim) == ""
    assert await is_empty(node)
