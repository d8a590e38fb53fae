from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient
from dragoman.kube.slices import SlicePublisher
from dragoman.kube.versions import Versions
from dragoman.model.errors import Refused, Unavailable
from dragoman.model.slices import PoolSpec, SliceSpec
from dragoman_hookspecs import Capacity, CounterConsumption, CounterSet, Device, JsonObject, Taint
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

DRIVER, NODE = "net.dragoman.dev", "n1"
WRITES = {"create", "update", "delete"}


def device(name: str, **fields: object) -> Device:
    return replace(Device(name=name, identity=name, attributes={"ifName": name}), **fields)  # type: ignore[arg-type] # the fields are named by the test


def pool(*slices: Sequence[Device]) -> PoolSpec:
    return PoolSpec(name=NODE, slices=tuple(SliceSpec(devices=tuple(devices)) for devices in slices))


def stored(server: ApiServer) -> list[JsonObject]:
    return list(server.list("resourceslices"))


def names(server: ApiServer) -> list[list[str]]:
    return [[d["name"] for d in s["spec"].get("devices") or ()] for s in stored(server)]


def writes(server: ApiServer) -> list[str]:
    return [verb for verb, _ in server.requests if verb in WRITES]


def generations(server: ApiServer) -> list[tuple[int, int]]:
    pools = [s["spec"]["pool"] for s in stored(server)]
    return [(p["generation"], p["resourceSliceCount"]) for p in pools]


def another(client: KubeClient, versions: Versions, clock: VirtualClock, node: str = NODE) -> SlicePublisher:
    return SlicePublisher(client, versions, clock, driver=DRIVER, node=node)


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
async def test_a_pool_is_published_in_the_version_that_the_server_speaks(
    server: ApiServer, publisher: SlicePublisher, version: str
) -> None:
    server.serve_versions((version,))
    uid = server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})["metadata"]["uid"]
    assert await publisher.publish(pool([device("a")], [device("b")])) == []
    assert names(server) == [["a"], ["b"]]
    assert generations(server) == [(1, 2), (1, 2)]
    first = stored(server)[0]
    assert first["spec"]["devices"][0] == {"name": "a", "attributes": {"ifName": {"string": "a"}}}
    assert (first["spec"]["driver"], first["spec"]["nodeName"], first["spec"]["pool"]["name"]) == (DRIVER, NODE, NODE)
    assert first["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": uid, "controller": True}
    ]


async def test_a_node_object_that_could_not_be_read_once_is_asked_for_again(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    server.faults.fail(403, path="/api/v1/nodes", reason="Forbidden")
    await publisher.publish(pool([device("a")]))
    await publisher.publish(pool([device("a")], [device("b")]))
    assert ["ownerReferences" in each["metadata"] for each in stored(server)] == [False, True]


async def test_without_a_node_object_slices_have_no_owner(server: ApiServer, publisher: SlicePublisher) -> None:
    await publisher.publish(pool([device("a")]))
    assert "ownerReferences" not in stored(server)[0]["metadata"]


async def test_an_empty_pool_is_one_slice_without_devices(server: ApiServer, publisher: SlicePublisher) -> None:
    await publisher.publish(PoolSpec(name=NODE, slices=()))
    assert names(server) == [[]]
    assert generations(server) == [(1, 1)]


async def test_no_list_or_watch_is_cluster_wide(server: ApiServer, publisher: SlicePublisher) -> None:
    await publisher.publish(pool([device("a")]))
    await server.until(lambda: any(verb == "watch" for verb, _ in server.requests))
    asked = [query for verb, query in server.selectors if verb in ("list", "watch")]
    assert asked
    assert set(asked) == {f"spec.nodeName={NODE},spec.driver={DRIVER}"}


async def test_only_the_slice_that_changed_is_written(server: ApiServer, publisher: SlicePublisher) -> None:
    await publisher.publish(pool([device("a")], [device("b")], [device("c")]))
    before = {s["metadata"]["name"]: s["metadata"] for s in stored(server)}
    await publisher.publish(pool([device("a")], [device("b2")], [device("c")]))
    after = {s["metadata"]["name"]: s["metadata"] for s in stored(server)}
    changed = [name for name in after if after[name]["resourceVersion"] != before[name]["resourceVersion"]]
    assert [name[:5] for name in changed] == ["00001"]
    assert all(after[name]["uid"] == before[name]["uid"] for name in before)
    assert generations(server) == [(1, 3)] * 3


async def test_publishing_the_same_again_sends_nothing(server: ApiServer, publisher: SlicePublisher) -> None:
    await publisher.publish(pool([device("a")]))
    await server.until(lambda: any(verb == "watch" for verb, _ in server.requests))
    before = len(server.requests)
    await publisher.publish(pool([device("a")]))
    assert len(server.requests) == before


async def test_quantities_that_are_written_otherwise_are_no_change(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    await publisher.publish(pool([device("a", capacity={"m": Capacity(value="1Gi")})]))
    await publisher.publish(pool([device("a", capacity={"m": Capacity(value="1073741824")})]))
    assert writes(server) == ["create"]


async def test_a_restart_leaves_every_slice_as_it_was(
    server: ApiServer, publisher: SlicePublisher, client: KubeClient, versions: Versions, clock: VirtualClock
) -> None:
    wanted = pool([device("a", taints=(Taint(key="k"),))], [device("b")])
    await publisher.publish(wanted)
    before = stored(server)
    await publisher.aclose()
    assert stored(server) == before
    again = another(client, versions, clock)
    await again.publish(wanted)
    await again.aclose()
    assert stored(server) == before


async def test_taints_that_stay_keep_the_time_at_which_they_were_added(clock: VirtualClock) -> None:
    async with ApiServer(now=clock.now) as server, KubeClient(Access(server=server.url)) as client:
        sink = another(client, Versions(client), clock)
        await sink.publish(pool([device("a", taints=(Taint(key="old"),))]))
        added = stored(server)[0]["spec"]["devices"][0]["taints"][0]["timeAdded"]
        await clock.advance(100)
        await sink.publish(pool([device("a", taints=(Taint(key="old"), Taint(key="new")))]))
        old, new = stored(server)[0]["spec"]["devices"][0]["taints"]
        await sink.aclose()
    assert old["timeAdded"] == added
    assert new["timeAdded"] > added


async def test_a_slice_less_is_deleted(server: ApiServer, publisher: SlicePublisher) -> None:
    await publisher.publish(pool([device("a")], [device("b")]))
    await publisher.publish(pool([device("a")]))
    assert names(server) == [["a"]]
    assert generations(server) == [(1, 1)]


async def test_slices_of_other_nodes_and_drivers_are_left_alone(
    server: ApiServer, publisher: SlicePublisher, client: KubeClient, versions: Versions, clock: VirtualClock
) -> None:
    elsewhere = another(client, versions, clock, node="n2")
    await elsewhere.publish(PoolSpec(name="n2", slices=(SliceSpec(devices=(device("x"),)),)))
    await publisher.publish(pool([device("a")]))
    await publisher.withdraw()
    await elsewhere.aclose()
    assert names(server) == [["x"]]


async def test_withdraw_deletes_every_slice_and_nothing_brings_them_back(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    await publisher.publish(pool([device("a")], [device("b")]))
    await publisher.withdraw()
    await clock.advance(120)
    assert stored(server) == []


async def test_a_refused_slice_is_named_with_its_device_and_the_others_are_published_as_a_complete_pool(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    bad = device("b", attributes={"vendor": "x" * 65})
    with pytest.raises(Refused, match=r"slice 00001-.* was refused: device b: .*vendor.*64 bytes"):
        await publisher.publish(pool([device("a")], [bad], [device("c")]))
    assert names(server) == [["a"], ["c"]]
    assert [count for _, count in generations(server)] == [2, 2]
    assert len({generation for generation, _ in generations(server)}) == 1


async def test_a_refused_slice_is_not_tried_again_until_the_pool_changes(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock
) -> None:
    wanted = pool([device("a")], [device("b", attributes={"vendor": "x" * 65})])
    with pytest.raises(Refused):
        await publisher.publish(wanted)
    before = writes(server)
    with pytest.raises(Refused, match="device b"):
        await publisher.publish(wanted)
    await clock.advance(300)
    assert writes(server) == before
    await publisher.publish(pool([device("a")], [device("b")]))
    assert names(server) == [["a"], ["b"]]


async def test_a_refused_change_keeps_the_last_accepted_devices_that_are_still_wanted(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    await publisher.publish(pool([device("a"), device("gone")]))
    with pytest.raises(Refused, match="device bad"):
        await publisher.publish(pool([device("a"), device("bad", attributes={"vendor": "x" * 65})]))
    assert names(server) == [["a"]]


async def test_a_pool_of_which_every_slice_is_refused_is_an_empty_slice(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    with pytest.raises(Refused):
        await publisher.publish(pool([device("Bad_Name")]))
    assert names(server) == [[]]


GATED = [
    ("DRADeviceTaints", "taints", device("a", taints=(Taint(key="k"),))),
    ("DRAConsumableCapacity", "allowMultipleAllocations", device("a", allow_multiple_allocations=True)),
    (
        "DRADeviceBindingConditions",
        "bindingConditions",
        device("a", binding_conditions=("b",), binding_failure_conditions=("f",)),
    ),
    (
        "DRAPartitionableDevices",
        "consumesCounters",
        device("a", counters=(CounterConsumption(counter_set="s", counters={"c": "1"}),)),
    ),
]


@pytest.mark.parametrize(("gate", "field", "gated"), GATED)
async def test_a_dropped_field_is_a_warning_and_is_not_written_again_and_again(
    server: ApiServer, publisher: SlicePublisher, clock: VirtualClock, gate: str, field: str, gated: Device
) -> None:
    server.faults.off.add(gate)
    warnings = await publisher.publish(pool([gated]))
    assert any("device a" in w and field in w and gate in w for w in warnings)
    assert await publisher.publish(pool([gated])) == warnings
    await clock.advance(120)
    assert writes(server) == ["create"]


async def test_a_restart_beside_a_gate_that_is_off_leaves_the_slices_as_they_were(
    server: ApiServer, publisher: SlicePublisher, client: KubeClient, versions: Versions, clock: VirtualClock
) -> None:
    server.faults.off.add("DRADeviceTaints")
    wanted = pool(*([device(name, taints=(Taint(key="k"),))] for name in "abc"))
    warnings = await publisher.publish(wanted)
    before = stored(server)
    await publisher.aclose()
    again = another(client, versions, clock)
    assert await again.publish(wanted) == warnings
    await again.aclose()
    assert stored(server) == before


async def test_a_dropped_field_does_not_cost_a_write_when_another_slice_changes(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    server.faults.off.add("DRADeviceTaints")
    tainted = device("a", taints=(Taint(key="k"),))
    await publisher.publish(pool([tainted], [device("b")]))
    before = len(writes(server))
    await publisher.publish(pool([tainted], [device("b2")]))
    assert writes(server)[before:] == ["update"]


async def test_list_attributes_are_left_out_where_the_server_knows_none(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    server.faults.off.add("DRAListTypeAttributes")
    listed = device("a", attributes={"ifName": "a", "numaNode": (0, 1)})
    (warning,) = await publisher.publish(pool([listed], [device("b")]))
    assert "device a" in warning
    assert "numaNode" in warning
    assert "DRAListTypeAttributes" in warning
    assert names(server) == [["a"], ["b"]]
    assert stored(server)[0]["spec"]["devices"][0]["attributes"] == {"ifName": {"string": "a"}}


async def test_counter_sets_and_devices_are_one_pool(server: ApiServer, publisher: SlicePublisher) -> None:
    sets = SliceSpec(counter_sets=(CounterSet(name="s", counters={"c": "8"}),))
    taking = device("a", counters=(CounterConsumption(counter_set="s", counters={"c": "1"}),))
    await publisher.publish(PoolSpec(name=NODE, slices=(sets, SliceSpec(devices=(taking,)))))
    assert [sorted(s["spec"]) for s in stored(server)] == [
        ["driver", "nodeName", "pool", "sharedCounters"],
        ["devices", "driver", "nodeName", "pool"],
    ]
    assert generations(server) == [(1, 2), (1, 2)]


async def test_a_create_whose_answer_was_lost_is_recognised(server: ApiServer, publisher: SlicePublisher) -> None:
    server.faults.lose_answer(verb="create")
    with pytest.raises(Unavailable):
        await publisher.publish(pool([device("a")]))
    await publisher.publish(pool([device("a")]))
    assert names(server) == [["a"]]
    assert writes(server) == ["create"]


async def test_a_name_that_somebody_else_holds_is_evaded(server: ApiServer, publisher: SlicePublisher) -> None:
    await publisher.publish(pool([device("a")]))
    taken = stored(server)[0]
    server.delete("resourceslices", taken["metadata"]["name"])
    foreign = {**taken, "metadata": {"name": taken["metadata"]["name"]}}
    server.create({**foreign, "spec": {**taken["spec"], "driver": "other.example.com"}})
    await publisher.publish(pool([device("b")]))
    mine = server.list("resourceslices", field_selector=f"spec.driver={DRIVER}")
    assert [d["name"] for d in mine[0]["spec"]["devices"]] == ["b"]


async def test_a_slice_that_another_hand_changed_meanwhile_is_read_and_written_again(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    await publisher.publish(pool([device("a")]))
    server.faults.freeze_watches()
    changed = stored(server)[0]
    changed["spec"]["devices"] = [{"name": "theirs"}]
    server.update(changed)
    await publisher.publish(pool([device("b")]))
    assert names(server) == [["b"]]


async def test_without_permission_the_error_names_the_verbs(server: ApiServer, publisher: SlicePublisher) -> None:
    server.faults.fail(403, verb="create", reason="Forbidden", message="no", count=100)
    with pytest.raises(Unavailable, match="list, watch, create, update and delete on resourceslices"):
        await publisher.publish(pool([device("a")]))


async def test_slices_are_found_again_after_the_cluster_dropped_the_old_api_version(
    server: ApiServer, publisher: SlicePublisher
) -> None:
    server.serve_versions(("v1beta1",))
    await publisher.publish(pool([device("a")]))
    server.serve_versions(("v1",))
    await publisher.publish(pool([device("b")]))
    assert names(server) == [["b"]]
