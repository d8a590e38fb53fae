"""The scheduler of the sandbox over the embedded API server: what it allocates, and with which words it refuses."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import ApiServer
from dragoman_testkit.sandbox.scheduler import Scheduler, Unschedulable

DRIVER = "net.example.com"
NODE = "node-1"


@pytest.fixture
def api() -> ApiServer:
    return ApiServer()


def publish(api: ApiServer, *devices: JsonObject, generation: int = 1, count: int = 1, node: str = NODE) -> None:
    api.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"generateName": "slice-"},
            "spec": {
                "driver": DRIVER,
                "nodeName": node,
                "pool": {"name": node, "generation": generation, "resourceSliceCount": count},
                "devices": list(devices),
            },
        }
    )


def nic(name: str, kind: str = "a", **more: Any) -> JsonObject:
    return {"name": name, "attributes": {"kind": {"string": kind}}, **more}


def shared(name: str, links: Mapping[str, Any]) -> JsonObject:
    return nic(name, allowMultipleAllocations=True, capacity={"links": dict(links)})


def make_class(api: ApiServer, name: str, kind: str, parameters: JsonObject | None = None) -> None:
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].kind == "{kind}"'
    config = [{"opaque": {"driver": DRIVER, "parameters": parameters}}] if parameters else []
    api.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": expression}}], "config": config},
        }
    )


def make_claim(
    api: ApiServer, name: str, *requests: JsonObject, config: Sequence[JsonObject] = (), **more: Any
) -> JsonObject:
    return api.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"devices": {"requests": list(requests), "config": list(config), **more}},
        }
    )


def exactly(name: str = "net", class_name: str = "a", **more: Any) -> JsonObject:
    return {"name": name, "exactly": {"deviceClassName": class_name, **more}}


def pod(name: str = "web") -> JsonObject:
    return {"metadata": {"name": name, "namespace": "default", "uid": str(uuid.uuid4())}}


def schedule(api: ApiServer, *claims: str, by: JsonObject | None = None) -> list[JsonObject]:
    objects = [api.get("resourceclaims", claim, "default") for claim in claims]
    Scheduler(api, NODE).schedule(by or pod(), objects)
    return [api.get("resourceclaims", claim, "default")["status"] for claim in claims]


def devices(status: JsonObject) -> list[str]:
    return [result["device"] for result in status["allocation"]["devices"]["results"]]


def test_the_first_free_device_of_the_class_is_allocated_and_reserved_for_the_pod(api: ApiServer) -> None:
    publish(api, nic("x0", "b"), nic("a0"), nic("a1"))
    make_class(api, "a", "a")
    make_claim(api, "first", exactly())
    make_claim(api, "second", exactly())
    web = pod()
    (first,) = schedule(api, "first", by=web)
    assert first["allocation"]["devices"]["results"] == [
        {"request": "net", "driver": DRIVER, "pool": NODE, "device": "a0"}
    ]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [NODE]}]}
    assert first["allocation"]["nodeSelector"] == {"nodeSelectorTerms": [term]}
    assert first["reservedFor"] == [{"resource": "pods", "name": "web", "uid": web["metadata"]["uid"]}]
    assert devices(schedule(api, "second")[0]) == ["a1"]


def test_a_pod_is_scheduled_with_all_of_its_claims_or_none(api: ApiServer) -> None:
    publish(api, nic("a0"))
    make_class(api, "a", "a")
    make_claim(api, "first", exactly())
    make_claim(api, "second", exactly())
    with pytest.raises(
        Unschedulable, match=r"claim default/second: request net: 1 device\(s\) cannot be had \(in use: 1\)"
    ):
        schedule(api, "first", "second")
    assert "status" not in api.get("resourceclaims", "first", "default")


def test_an_error_names_its_claim_once(api: ApiServer) -> None:
    make_claim(api, "one", exactly())
    with pytest.raises(Unschedulable) as refused:
        schedule(api, "one")
    assert "device class" in str(refused.value)
    assert str(refused.value).startswith("claim default/one, request net: ")


def test_a_second_pod_is_added_to_the_reservations_of_an_allocated_claim(api: ApiServer) -> None:
    publish(api, nic("a0"))
    make_class(api, "a", "a")
    make_claim(api, "both", exactly())
    one, two = pod("one"), pod("two")
    (before,) = schedule(api, "both", by=one)
    (after,) = schedule(api, "both", by=two)
    assert after["allocation"] == before["allocation"]
    assert [consumer["name"] for consumer in after["reservedFor"]] == ["one", "two"]
    assert schedule(api, "both", by=two) == [after]


def test_a_count_takes_several_devices_and_further_selectors_narrow_them(api: ApiServer) -> None:
    speeds = [
        nic(f"a{index}") | {"attributes": nic("")["attributes"] | {"speed": {"int": index}}} for index in range(4)
    ]
    publish(api, *speeds)
    make_class(api, "a", "a")
    cel = {"cel": {"expression": f'device.attributes["{DRIVER}"].speed != 1'}}
    make_claim(api, "three", exactly(count=3, selectors=[cel]))
    assert devices(schedule(api, "three")[0]) == ["a0", "a2", "a3"]


def test_the_first_alternative_that_fits_is_taken_whole_under_its_full_name(api: ApiServer) -> None:
    publish(api, nic("a0"), nic("b0", "b"), nic("b1", "b"))
    make_class(api, "a", "a")
    make_class(api, "b", "b", {"mtu": 9000})
    alternatives = [
        {"name": "best", "deviceClassName": "a", "count": 2},
        {"name": "good", "deviceClassName": "b", "count": 2},
    ]
    config = [
        {"requests": ["net/best"], "opaque": {"driver": DRIVER, "parameters": {"podIfName": "best"}}},
        {"requests": ["net"], "opaque": {"driver": DRIVER, "parameters": {"podIfName": "any"}}},
        {"requests": ["net/good"], "opaque": {"driver": DRIVER, "parameters": {"podIfName": "good"}}},
    ]
    make_claim(api, "either", {"name": "net", "firstAvailable": alternatives}, config=config)
    make_claim(api, "rest", exactly())
    (status,) = schedule(api, "either")
    results = status["allocation"]["devices"]["results"]
    assert [(result["request"], result["device"]) for result in results] == [("net/good", "b0"), ("net/good", "b1")]
    configs = status["allocation"]["devices"]["config"]
    seen = [(c["source"], c.get("requests"), *c["opaque"]["parameters"].values()) for c in configs]
    # An entry for every request of the claim names none since 1.37.
    assert seen == [("FromClass", None, 9000), ("FromClaim", None, "any"), ("FromClaim", None, "good")]
    assert devices(schedule(api, "rest")[0]) == ["a0"], "what an alternative took before it failed is free again"


def test_shares_of_a_device_have_ids_of_their_own_and_end_with_its_capacity(api: ApiServer) -> None:
    publish(api, shared("s0", {"value": "2", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}}))
    make_class(api, "a", "a")
    for name in ("one", "two", "three"):
        make_claim(api, name, exactly())
    results = [schedule(api, name)[0]["allocation"]["devices"]["results"][0] for name in ("one", "two")]
    assert [(result["device"], result["consumedCapacity"]) for result in results] == [("s0", {"links": "1"})] * 2
    ids = {uuid.UUID(result["shareID"]) for result in results}
    assert len(ids) == 2
    with pytest.raises(Unschedulable, match="capacity used: 1"):
        schedule(api, "three")


@pytest.mark.parametrize(
    ("policy", "requested", "consumed"),
    [
        (None, None, "10"),
        (None, "3", "3"),
        ({"default": "2", "validValues": ["2", "4", "8"]}, None, "2"),
        ({"default": "2", "validValues": ["2", "4", "8"]}, "3", "4"),
        ({"default": "2", "validValues": ["2", "4", "8"]}, "9", None),
        ({"default": "1", "validRange": {"min": "1", "step": "2"}}, "4", "5"),
        ({"default": "1", "validRange": {"min": "2", "max": "4"}}, "1", "2"),
        ({"default": "1", "validRange": {"min": "2", "max": "4"}}, "5", None),
        (None, "11", None),
    ],
)
def test_a_request_of_capacity_is_rounded_up_as_the_policy_says(
    api: ApiServer, policy: JsonObject | None, requested: str | None, consumed: str | None
) -> None:
    publish(api, shared("s0", {"value": "10"} | ({"requestPolicy": policy} if policy else {})))
    make_class(api, "a", "a")
    capacity: JsonObject = {"capacity": {"requests": {"links": requested}}} if requested else {}
    make_claim(api, "one", exactly(**capacity))
    if consumed is None:
        with pytest.raises(Unschedulable):
            schedule(api, "one")
    else:
        (status,) = schedule(api, "one")
        assert status["allocation"]["devices"]["results"][0]["consumedCapacity"] == {"links": consumed}


def test_a_device_that_is_given_whole_must_be_large_enough(api: ApiServer) -> None:
    publish(api, nic("small", capacity={"queues": {"value": "4"}}), nic("large", capacity={"queues": {"value": "1k"}}))
    make_class(api, "a", "a")
    make_claim(api, "one", exactly(capacity={"requests": {"queues": "8"}}))
    make_claim(api, "odd", exactly(capacity={"requests": {"unheard": "1"}}))
    (status,) = schedule(api, "one")
    result = {"request": "net", "driver": DRIVER, "pool": NODE, "device": "large"}
    assert status["allocation"]["devices"]["results"] == [result]
    with pytest.raises(Unschedulable):
        schedule(api, "odd")


def test_only_complete_pools_of_this_node_in_their_newest_generation_count(api: ApiServer) -> None:
    publish(api, nic("old"), generation=1)
    publish(api, nic("new"), generation=2, count=2)
    publish(api, nic("elsewhere"), node="node-2")
    make_class(api, "a", "a")
    make_claim(api, "one", exactly())
    with pytest.raises(Unschedulable):
        schedule(api, "one")
    publish(api, nic("newer"), generation=2, count=2)
    assert devices(schedule(api, "one")[0]) in (["new"], ["newer"])


def test_tainted_devices_are_left_alone_and_counters_are_counted(api: ApiServer) -> None:
    needs = [{"counterSet": "set", "counters": {"n": {"value": "1"}}}]
    tainted = nic("t0", taints=[{"key": "net.example.com/health", "effect": "NoSchedule"}])
    noted = nic("n0", taints=[{"key": "net.example.com/note", "effect": "None"}])
    publish(api, nic("c0", consumesCounters=needs), nic("c1", consumesCounters=needs), tainted, noted, count=2)
    counters = [{"name": "set", "counters": {"n": {"value": "1"}}}]
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": DRIVER, "nodeName": NODE, "pool": pool, "sharedCounters": counters}
    meta = {"generateName": "counters-"}
    api.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta, "spec": spec})
    make_class(api, "a", "a")
    for name in ("one", "two", "three"):
        make_claim(api, name, exactly())
    assert [devices(schedule(api, name)[0]) for name in ("one", "two")] == [["c0"], ["n0"]]
    with pytest.raises(Unschedulable, match=r"4 device\(s\) cannot be had \(.*counters used: 1.*\)"):
        schedule(api, "three")


def test_constraints_are_met_by_trying_other_devices(api: ApiServer) -> None:
    publish(api, nic("a0"), nic("a1"), nic("a2"))
    make_class(api, "a", "a")
    make_claim(api, "any", exactly(count=2), constraints=[{"matchAttribute": f"{DRIVER}/kind"}])
    assert devices(schedule(api, "any")[0]) == ["a0", "a1"]


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        (exactly(class_name="missing"), "could not retrieve device class missing"),
        (exactly(selectors=[{"cel": {"expression": "device.isNice()"}}]), "CEL compile error"),
        (exactly(count=33), "exceeds the claim limit of 32"),
    ],
)
def test_a_claim_that_no_node_can_satisfy_is_refused_with_the_schedulers_words(
    api: ApiServer, request_: JsonObject, fault: str
) -> None:
    publish(api, nic("a0"))
    make_class(api, "a", "a")
    make_claim(api, "one", request_)
    with pytest.raises(Unschedulable, match=f"claim default/one.*{fault}"):
        schedule(api, "one")
