"""When a pool is published: with changes, after failures and refusals, and what is told of it."""

from __future__ import annotations

from dragoman.model.errors import Refused, Unavailable
from dragoman_hookspecs import DeviceError

from .publisherworld import Node, device


async def test_the_first_complete_inventory_is_published() -> None:
    node = Node(device("dummy0"), device("dummy1"))
    async with node.running():
        assert list(node.sink.devices()) == ["dummy0", "dummy1"]
        assert node.sink.pools[0].name == "node-a"
        state = node.publisher.state
        assert (state.published_at, state.devices, state.slices, state.error) == (1000.0, 2, 1, "")


async def test_nothing_is_published_before_every_manager_was_scanned_but_not_for_ever() -> None:
    node = Node()
    node.hooks.fail("discover_devices", DeviceError("not yet"), times=100)
    async with node.running():
        await node.clock.advance(9)
        assert node.sink.attempts == 0
        assert node.publisher.state.published_at is None
        await node.clock.advance(2)
        assert node.sink.devices() == {}
        assert node.sink.attempts == 1


async def test_a_change_of_the_devices_is_published_and_no_change_is_not() -> None:
    node = Node()
    async with node.running():
        await node.discover(device("dummy0"), device("dummy1"))
        assert list(node.sink.devices()) == ["dummy0", "dummy1"]
        await node.discover(device("dummy1"), device("dummy0"))
        node.publisher.poke()
        await node.clock.advance(600)
        assert node.sink.attempts == 2


async def test_a_failed_scan_withdraws_nothing() -> None:
    node = Node(device("dummy0"))
    async with node.running():
        node.hooks.fail("discover_devices", DeviceError("dump was interrupted"), times=50)
        await node.clock.advance(600)
        assert node.sink.attempts == 1
        assert list(node.sink.devices()) == ["dummy0"]


async def test_an_unavailable_server_is_tried_again_ever_more_slowly_with_the_latest_pool() -> None:
    node = Node()
    node.sink.errors = [Unavailable("connection refused") for _ in range(3)]
    async with node.running():
        assert node.publisher.state.error == "connection refused"
        await node.discover(device("dummy7"))
        assert node.sink.attempts == 2
        await node.clock.advance(5)
        assert node.sink.attempts == 3
        await node.clock.advance(1)
        assert list(node.sink.devices()) == ["dummy7"]
        assert len(node.sink.pools) == 1
        assert node.publisher.state.error == ""


async def test_a_pool_is_published_again_when_what_followed_it_may_have_been_written_in_part() -> None:
    node = Node(device("dummy0"))
    async with node.running():
        node.sink.errors = [Unavailable("connection reset")]
        await node.discover(device("dummy1"))
        await node.discover(device("dummy0"))
        await node.clock.advance(1)
        assert [list(spec.devices) for pool in node.sink.pools for spec in pool.slices] == [
            [device("dummy0", attributes={"deviceManager": "dummy"})]
        ] * 2


async def test_pauses_after_failures_do_not_grow_without_limit() -> None:
    node = Node()
    node.sink.errors = [Unavailable("no route") for _ in range(12)]
    async with node.running():
        await node.clock.advance(1 + 2 + 4 + 8 + 16 + 32 + 60 * 6)
        assert len(node.sink.pools) == 1


async def test_the_pause_after_failures_ends_when_the_server_is_said_to_be_back() -> None:
    node = Node()
    node.sink.errors = [Unavailable("no route") for _ in range(7)]
    async with node.running():
        await node.clock.advance(1 + 2 + 4 + 8 + 16 + 32)
        assert (node.sink.attempts, node.publisher.state.error) == (7, "no route")
        node.publisher.again()
        await node.clock.settle()
        assert (len(node.sink.pools), node.publisher.state.error) == (1, "")


async def test_changes_during_a_slow_publication_end_in_the_latest_pool_only() -> None:
    node = Node()
    node.sink.gate.clear()
    async with node.running():
        for number in range(1, 5):
            await node.discover(device(f"dummy{number}"))
        assert node.sink.attempts == 1
        node.sink.gate.set()
        await node.clock.advance(1)
        assert [[d.name for spec in pool.slices for d in spec.devices] for pool in node.sink.pools] == [
            ["dummy0"],
            ["dummy4"],
        ]


async def test_a_refused_pool_waits_for_a_change(said: list[str]) -> None:
    node = Node()
    node.sink.errors = [Refused("422: devices[0].name")]
    async with node.running():
        node.publisher.poke()
        await node.clock.advance(600)
        assert node.sink.attempts == 1
        assert "422: devices[0].name" in node.publisher.state.error
        assert len([message for message in said if "422" in message]) == 1
        await node.discover(device("dummy1"))
        assert list(node.sink.devices()) == ["dummy1"]
        assert node.publisher.state.error == ""


async def test_a_pool_is_published_again_when_a_refused_one_is_taken_back() -> None:
    node = Node(device("dummy0"))
    async with node.running():
        node.sink.errors = [Refused("422")]
        await node.discover(device("dummy1"))
        await node.discover(device("dummy0"))
        assert node.sink.attempts == 3
        assert node.publisher.state.error == ""


async def test_where_the_server_refuses_list_attributes_the_devices_are_published_without_them() -> None:
    node = Node(device("dummy0", attributes={"numa": (0, 1), "mtu": 1500}))
    node.sink.errors = [Refused("422: attributes[numa]: must specify one of")]
    async with node.running():
        assert node.sink.devices()["dummy0"].attributes == {"deviceManager": "dummy", "mtu": 1500}
        assert node.publisher.state.error == ""
        assert any("attribute numa" in warning for warning in node.publisher.state.warnings)
        await node.discover(device("dummy1", attributes={"numa": (1,)}))
        assert node.sink.attempts == 3


async def test_a_refusal_that_list_attributes_did_not_cause_is_shown_and_they_are_tried_again_later() -> None:
    node = Node(device("dummy0", attributes={"numa": (0, 1)}))
    node.sink.errors = [Refused("422"), Refused("422")]
    async with node.running():
        assert "422" in node.publisher.state.error
        await node.discover(device("dummy1", attributes={"numa": (1,)}))
        assert node.sink.devices()["dummy1"].attributes["numa"] == (1,)


async def test_fields_that_the_server_dropped_are_told_once_and_shown_while_true(said: list[str]) -> None:
    node = Node()
    node.sink.warnings = ("device dummy0: taints were dropped",)
    async with node.running():
        for number in range(3):
            await node.discover(device("dummy0"), device(f"more{number}"))
        assert said.count("device dummy0: taints were dropped") == 1
        assert node.publisher.state.warnings == ("device dummy0: taints were dropped",)
        node.sink.warnings = ()
        await node.discover(device("dummy0"))
        assert not node.publisher.state.warnings


async def test_stopping_withdraws_nothing() -> None:
    node = Node()
    async with node.running():
        assert node.sink.attempts == 1
    await node.clock.advance(600)
    assert node.sink.attempts == 1
