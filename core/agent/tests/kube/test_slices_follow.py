from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient
from dragoman.kube.follow import LONGEST_AWAY, Follower, Position
from dragoman.kube.slices import SlicePublisher
from dragoman.kube.versions import Api, Versions
from dragoman.model.errors import Unavailable
from dragoman.model.slices import PoolSpec, SliceSpec
from dragoman_hookspecs import Device, Taint
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

DRIVER, NODE = "net.dragoman.dev", "n1"


def pool(*names: str) -> PoolSpec:
    """One slice a device."""
    return PoolSpec(name=NODE, slices=tuple(SliceSpec(devices=(Device(name=n, identity=n),)) for n in names))


def published(server: ApiServer) -> list[str]:
    return [d["name"] for s in server.list("resourceslices") for d in s["spec"].get("devices") or ()]


def watches(server: ApiServer) -> int:
    return sum(verb == "watch" for verb, _ in server.requests)


async def watching(server: ApiServer, count: int = 1) -> None:
    await server.until(lambda: watches(server) >= count)


async def noticed(clock: VirtualClock, sleepers: int = 1) -> None:
    """Wait until the publisher has seen an event and set its alarm."""
    async with asyncio.timeout(60):
        while clock.pending() < sleepers:
            await clock.settle()


def wipe(server: ApiServer) -> None:
    for stored in server.list("resourceslices"):
        server.delete("resourceslices", stored["metadata"]["name"])


@asynccontextmanager
async def following(server: ApiServer, clock: VirtualClock, *, silence: float = 60.0) -> AsyncIterator[SlicePublisher]:
    async with KubeClient(Access(server=server.url)) as client:
        sink = SlicePublisher(client, Versions(client), clock, driver=DRIVER, node=NODE, silence=silence)
        try:
            yield sink
        finally:
            await sink.aclose()


async def test_wiped_slices_are_back_within_two_seconds(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    await publisher.publish(pool("a", "b"))
    await watching(server)
    wipe(server)
    await noticed(clock)
    await clock.advance(2)
    await server.until(lambda: published(server) == ["a", "b"])
    assert {s["spec"]["pool"]["generation"] for s in server.list("resourceslices")} == {1}


async def test_a_slice_deleted_right_after_an_own_update_comes_back(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    await publisher.publish(pool("a"))
    await watching(server)
    await publisher.publish(pool("b"))
    wipe(server)
    await noticed(clock)
    await clock.advance(2)
    await server.until(lambda: published(server) == ["b"])


async def test_a_slice_changed_by_another_hand_is_put_right_after_thirty_seconds(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    await publisher.publish(pool("a"))
    await watching(server)
    changed = server.list("resourceslices")[0]
    changed["spec"]["devices"] = [{"name": "theirs"}]
    server.update(changed)
    await noticed(clock)
    await clock.advance(29)
    assert published(server) == ["theirs"]
    await clock.advance(1)
    await server.until(lambda: published(server) == ["a"])


async def test_the_owner_is_the_node_as_it_is_now_when_a_slice_comes_back(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    server.create(node)
    await publisher.publish(pool("a"))
    await watching(server)
    server.delete("nodes", NODE)
    uid = server.create(node)["metadata"]["uid"]
    wipe(server)
    await noticed(clock)
    await clock.advance(2)
    await server.until(lambda: published(server) == ["a"])
    assert server.list("resourceslices")[0]["metadata"]["ownerReferences"][0]["uid"] == uid


@pytest.mark.parametrize("ending", ["cut", "expire", "compact", "restart"])
async def test_what_is_deleted_while_no_watch_runs_is_not_missed(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock, ending: str
) -> None:
    await publisher.publish(pool("a", "b"))
    await watching(server)
    if ending == "cut":
        server.faults.cut_watches()
    elif ending == "expire":
        server.faults.expire_after = 0
        server.faults.freeze_watches(False)
    elif ending == "compact":
        server.faults.cut_watches()
        wipe(server)
        server.compact()
    else:
        await server.stop(for_now=True)
    await noticed(clock)
    wipe(server)
    if ending == "restart":
        await server.start()
    await clock.advance(2)
    await server.until(lambda: published(server) == ["a", "b"])
    await watching(server, 2)


async def test_a_watch_that_expires_after_some_events_lists_again(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    server.faults.expire_after = 10
    await publisher.publish(pool("a"))
    await watching(server)
    for turn in range(10):
        changed = server.list("resourceslices")[0]
        changed["metadata"]["labels"] = {"turn": str(turn)}
        server.update(changed)
    await noticed(clock, 2)
    await clock.advance(1)
    await watching(server, 2)


async def test_a_server_that_ends_the_watch_all_the_time_is_asked_again_each_time(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    await publisher.publish(pool("a"))
    for turn in range(1, 6):
        await watching(server, turn)
        server.faults.cut_watches()
        await noticed(clock)
        await clock.advance(60)
    await watching(server, 6)
    wipe(server)
    await noticed(clock)
    await clock.advance(2)
    await server.until(lambda: published(server) == ["a"])


async def test_a_connection_that_went_silent_is_given_up_and_nothing_is_missed(clock: VirtualClock) -> None:
    async with ApiServer(bookmarks=0.02) as server, following(server, clock, silence=0.3) as sink:
        await sink.publish(pool("a"))
        await watching(server)
        server.faults.freeze_watches()
        wipe(server)
        await noticed(clock)
        server.faults.freeze_watches(False)
        await clock.advance(2)
        await server.until(lambda: published(server) == ["a"])


async def test_publishing_goes_on_by_itself_after_the_server_was_away(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    server.faults.fail(503, path="resourceslices", count=2)
    with pytest.raises(Unavailable):
        await publisher.publish(pool("a"))
    await noticed(clock)
    while not published(server):
        await clock.advance(1)
    assert published(server) == ["a"]


async def test_nothing_is_asked_before_the_first_pool_is_known(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    await clock.advance(60)
    assert server.requests == []


async def test_closing_ends_the_watch(server: ApiServer, publisher: SlicePublisher, clock: VirtualClock) -> None:
    await publisher.publish(pool("a"))
    await watching(server)
    await publisher.aclose()
    wipe(server)
    await clock.advance(120)
    assert published(server) == []
    assert clock.pending() == 0


async def test_a_fault_while_following_is_logged_and_does_not_end_it(client: KubeClient, clock: VirtualClock) -> None:
    asked: list[float] = []

    async def position() -> Position:
        asked.append(clock.monotonic())
        raise KeyError("pool")

    follower = Follower(client, clock, "it", position=position, take=lambda _event: None, silence=60.0)
    following = asyncio.create_task(follower.run())
    await clock.advance(1.0)
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    assert len(asked) == 2


async def test_who_waits_for_a_server_that_was_away_for_long_is_told_soon_after_its_return(
    server: ApiServer, versions: Versions, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    met: list[Api] = []
    versions.on_other(met.append)
    await publisher.publish(pool("a"))
    await watching(server)
    await server.stop(for_now=True)
    for _ in range(200):
        await noticed(clock)
        await clock.advance(3)
    wipe(server)
    await noticed(clock)  # a request that is still under way would find the server
    assert met == []
    await server.start()
    await clock.advance(LONGEST_AWAY)
    await server.until(lambda: published(server) == ["a"])
    assert [api.epoch for api in met] == [2]


async def test_a_control_plane_that_is_upgraded_under_the_agent_is_noticed_when_the_watch_ends(
    server: ApiServer, versions: Versions, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    met: list[Api] = []
    versions.on_other(met.append)
    server.server_version = (1, 36)
    await publisher.publish(pool("a"))
    await watching(server)
    for turn, minor in enumerate((36, 37), start=2):
        server.server_version = (1, minor)
        server.faults.cut_watches()
        await noticed(clock)
        await clock.advance(1)
        await watching(server, turn)
    assert [api.server for api in met] == [(1, 37)]


async def test_what_a_server_dropped_or_refused_is_offered_to_the_next_one(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    taint = Taint(key="t", effect="NoSchedule")
    tainted = Device(name="a", identity="a", taints=(taint,), attributes={"l": ("x", "y")})
    server.faults.off |= {"DRADeviceTaints", "DRAListTypeAttributes"}
    asked: list[bool] = []
    publisher.on_change(lambda: asked.append(True))
    assert len(await publisher.publish(PoolSpec(name=NODE, slices=(SliceSpec(devices=(tainted,)),)))) == 2
    await watching(server)
    server.faults.off.clear()
    server.server_version = (1, 38)
    server.faults.cut_watches()
    await noticed(clock)
    await clock.advance(1)
    await watching(server, 2)
    (device,) = server.list("resourceslices")[0]["spec"]["devices"]
    assert ([t["key"] for t in device["taints"]], device["attributes"]["l"]) == (["t"], {"strings": ["x", "y"]})
    assert asked == [True]


async def test_a_server_that_comes_back_with_its_gates_still_off_costs_no_new_generation(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    server.faults.off.add("DRADeviceTaints")
    devices = [Device(name=n, identity=n, taints=(Taint(key="t", effect="NoSchedule"),)) for n in "ab"]
    await publisher.publish(PoolSpec(name=NODE, slices=tuple(SliceSpec(devices=(each,)) for each in devices)))
    await watching(server)
    before = [stored["metadata"]["resourceVersion"] for stored in server.list("resourceslices")]
    server.server_version = (1, 38)
    server.faults.cut_watches()
    await noticed(clock)
    await clock.advance(1)
    await watching(server, 2)
    assert [stored["metadata"]["resourceVersion"] for stored in server.list("resourceslices")] == before


async def test_who_was_told_that_publishing_failed_is_told_when_it_was_put_right(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    asked: list[bool] = []
    publisher.on_change(lambda: asked.append(True))
    server.faults.fail(503, path="resourceslices", count=1)
    with pytest.raises(Unavailable):
        await publisher.publish(pool("a"))
    await noticed(clock)
    await clock.advance(1)
    await server.until(lambda: published(server) == ["a"])
    await watching(server)
    assert asked == [True]
