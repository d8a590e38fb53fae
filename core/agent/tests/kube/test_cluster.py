"""What controllers and commands of plugins get of the API server, over the embedded one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient
from dragoman.kube.cluster import KubeCluster
from dragoman.kube.collection import PAGE, SYNCED, follow, read_all
from dragoman.kube.errors import ApiError
from dragoman_hookspecs import ApiRefused, Cluster, DragomanError, JsonObject
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"


def device_class(name: str, **metadata: Any) -> JsonObject:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, **metadata},
        "spec": {},
    }


@pytest.fixture
async def cluster(client: KubeClient, clock: VirtualClock) -> Cluster:
    return KubeCluster(client, clock, asyncio.get_running_loop(), manager="tests")


async def test_objects_are_read_replaced_applied_and_deleted(server: ApiServer, cluster: Cluster) -> None:
    server.create(device_class("nic"))
    found = await asyncio.to_thread(cluster.get, f"{CLASSES}/nic")
    found["metadata"]["labels"] = {"seen": "yes"}
    changed = await asyncio.to_thread(cluster.update, f"{CLASSES}/nic", found)
    assert changed["metadata"]["labels"] == {"seen": "yes"}
    with pytest.raises(ApiRefused) as stale:
        await asyncio.to_thread(cluster.update, f"{CLASSES}/nic", found)
    assert stale.value.status == 409
    await asyncio.to_thread(cluster.delete, f"{CLASSES}/nic")
    with pytest.raises(ApiRefused) as gone:
        await asyncio.to_thread(cluster.get, f"{CLASSES}/nic")
    assert gone.value.status == 404


async def test_who_deletes_an_object_by_uid_deletes_no_other_and_one_that_is_gone_is_no_error(
    server: ApiServer, cluster: Cluster
) -> None:
    created = server.create(device_class("nic"))
    with pytest.raises(ApiRefused) as other:
        await asyncio.to_thread(lambda: cluster.delete(f"{CLASSES}/nic", uid="another"))
    assert other.value.status == 409
    for _ in range(2):
        await asyncio.to_thread(lambda: cluster.delete(f"{CLASSES}/nic", uid=created["metadata"]["uid"]))
    assert server.list("deviceclasses") == []


async def test_a_server_that_is_away_is_no_refusal(clock: VirtualClock) -> None:
    async with KubeClient(Access(server="http://127.0.0.1:1")) as client:
        cluster = KubeCluster(client, clock, asyncio.get_running_loop(), manager="tests")
        with pytest.raises(DragomanError) as away:
            await asyncio.to_thread(cluster.list, CLASSES)
    assert not isinstance(away.value, ApiRefused)


async def test_long_lists_come_whole_whatever_the_page(server: ApiServer, client: KubeClient) -> None:
    for number in range(7):
        server.create(device_class(f"c{number}"))
    items, version = await read_all(client, CLASSES)
    assert sorted(item["metadata"]["name"] for item in items) == [f"c{number}" for number in range(7)]
    assert int(version) > 0


class Forgetful(KubeClient):
    """A client of a server that keeps no page of a list for as long as it takes to ask for the next one."""

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        if "continue" in (query or {}):
            raise ApiError(410, "Expired", "the continue token is too old")
        return await super().get(path, query)


async def test_a_list_that_expires_between_its_pages_is_read_in_one_piece(server: ApiServer) -> None:
    for number in range(PAGE + 1):
        server.create(device_class(f"c{number}"))
    async with KubeClient(Access(server=server.url)) as client, Forgetful(Access(server=server.url)) as forgetful:
        assert len((await read_all(client, CLASSES))[0]) == PAGE + 1
        assert await read_all(forgetful, CLASSES) == await read_all(client, CLASSES)


class Watcher:
    """Follows the classes, with what it was told so far."""

    def __init__(self, client: KubeClient, clock: VirtualClock, path: str = CLASSES) -> None:
        self.told: list[tuple[str, str]] = []
        self._changed = asyncio.Event()
        self._clock = clock
        self.task = asyncio.create_task(follow(client, clock, path, self._tell))

    def _tell(self, type_: str, item: JsonObject) -> None:
        self.told.append((type_, item.get("metadata", {}).get("name", "")))
        self._changed.set()

    async def hears(self, *told: tuple[str, str]) -> None:
        """Wait until exactly this was told, then forget it; virtual time passes meanwhile."""
        async with asyncio.timeout(60):
            while len(self.told) < len(told):
                if self.task.done():
                    self.task.result()
                await (self._clock.advance(1) if self._clock.pending() else self._clock.settle())
        assert self.told == list(told)
        self.told.clear()


@pytest.fixture
async def watcher(client: KubeClient, clock: VirtualClock) -> AsyncIterator[Callable[..., Watcher]]:
    made: list[Watcher] = []

    def make(path: str = CLASSES) -> Watcher:
        made.append(Watcher(client, clock, path))
        return made[-1]

    yield make
    for each in made:
        each.task.cancel()
    await asyncio.gather(*(each.task for each in made), return_exceptions=True)


async def test_a_watch_tells_what_is_there_then_what_changes(
    server: ApiServer, watcher: Callable[..., Watcher]
) -> None:
    server.create(device_class("a"))
    watch = watcher()
    await watch.hears(("ADDED", "a"), (SYNCED, ""))
    server.create(device_class("b"))
    await watch.hears(("ADDED", "b"))
    server.update(device_class("b", labels={"x": "y"}))
    await watch.hears(("MODIFIED", "b"))
    server.delete("deviceclasses", "a")
    await watch.hears(("DELETED", "a"))


async def test_what_happened_while_the_connection_was_lost_is_told_once(
    server: ApiServer, watcher: Callable[..., Watcher]
) -> None:
    for name in ("changed", "gone", "same", "replaced"):
        server.create(device_class(name))
    watch = watcher()
    await watch.hears(*[("ADDED", name) for name in ("changed", "gone", "replaced", "same")], (SYNCED, ""))
    await server.until(lambda: ("watch", CLASSES) in server.requests)
    server.faults.fail(503, verb="list", count=3)
    server.faults.cut_watches()
    server.update(device_class("changed", labels={"x": "y"}))
    for name in ("gone", "replaced"):
        server.delete("deviceclasses", name)
    server.create(device_class("replaced"))
    server.compact()
    await watch.hears(("MODIFIED", "changed"), ("DELETED", "replaced"), ("ADDED", "replaced"), ("DELETED", "gone"))


@pytest.mark.parametrize("status", [403, 404])
async def test_a_collection_that_may_not_be_read_ends_the_watch(
    server: ApiServer, watcher: Callable[..., Watcher], status: int
) -> None:
    server.faults.fail(status, verb="list")
    with pytest.raises(ApiRefused) as refused:
        await watcher().task
    assert refused.value.status == status


async def test_a_watch_blocks_its_caller_until_it_is_stopped(server: ApiServer, cluster: Cluster) -> None:
    server.create(device_class("a"))
    told, stopped = [], threading.Event()

    def changed(type_: str, item: JsonObject) -> None:
        told.append((type_, threading.current_thread().name))
        if type_ == SYNCED:
            stopped.set()

    thread = threading.Thread(target=cluster.watch, args=(CLASSES, changed, stopped), name="the caller's")
    thread.start()
    await asyncio.to_thread(thread.join, 60)
    assert told == [("ADDED", "the caller's"), (SYNCED, "the caller's")]


async def test_a_watch_that_is_refused_raises_in_its_caller(server: ApiServer, cluster: Cluster) -> None:
    server.faults.fail(403, verb="list")
    with pytest.raises(ApiRefused):
        await asyncio.to_thread(cluster.watch, CLASSES, lambda *_: None, threading.Event())
