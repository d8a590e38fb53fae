from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dragoman.model.limits import Server
from dragoman.model.pools import PoolConfig, PoolFilter
from dragoman.model.publication import Publication, Publishing, publication
from dragoman.model.stock import Stock, Stocked
from dragoman_hookspecs import CounterConsumption, CounterSet, Device, Taint

RULES = Publishing(node="node-a", driver="net.example.org")
EVERYTHING = PoolFilter()


def device(name: str = "dummy0", **fields: Any) -> Device:
    return replace(Device(name=name, identity=name), **fields)


def known(*devices: Device, manager: str = "dummy") -> Stock:
    return Stock(devices=tuple(Stocked(device=item, manager=manager) for item in devices))


def published(result: Publication) -> dict[str, Device]:
    return {item.name: item for spec in result.pool.slices for item in spec.devices}


def refusals(result: Publication) -> dict[str, str]:
    return {decision.device.name: decision.refusal for decision in result.decisions if decision.refusal}


def test_the_pool_is_named_after_the_node_so_that_equal_device_names_on_two_nodes_do_not_collide() -> None:
    pools = [PoolConfig(name="fast", filter=EVERYTHING)]
    results = [publication(replace(RULES, node=node, pools=pools), known(device())) for node in ("a", "b")]
    assert [result.pool.name for result in results] == ["a", "b"]
    assert [published(result)["dummy0"].attributes["pool"] for result in results] == ["fast", "fast"]


def test_core_adds_pool_and_manager_and_overrides_what_a_manager_says_of_them_with_a_warning() -> None:
    liar = device(attributes={"pool": "vip", "deviceManager": "gpu", "net.example.org/pool": "vip", "mtu": 1500})
    result = publication(replace(RULES, pools=[PoolConfig(name="a", filter=EVERYTHING)]), known(liar))
    assert published(result)["dummy0"].attributes == {"deviceManager": "dummy", "pool": "a", "mtu": 1500}
    assert sorted({warning.what for warning in result.warnings}) == [
        "attribute deviceManager",
        "attribute net.example.org/pool",
        "attribute pool",
    ]


def test_without_pools_there_is_no_pool_attribute_and_the_manager_cannot_make_one_up() -> None:
    result = publication(RULES, known(device(attributes={"pool": "vip"})))
    assert published(result)["dummy0"].attributes == {"deviceManager": "dummy"}


def test_a_device_that_no_pool_wants_is_left_out_without_a_warning() -> None:
    result = publication(replace(RULES, pools=[PoolConfig(name="a")]), known(device()))
    assert published(result) == {}
    assert refusals(result) == {"dummy0": "no pool matches it"}
    assert result.warnings == ()


def test_conflicting_pins_leave_the_device_out_with_a_warning() -> None:
    result = publication(RULES, known(device()), pinned={"dummy0": frozenset({"a", "b"})})
    assert published(result) == {}
    assert [str(warning) for warning in result.warnings] == [
        "device dummy0: not published (dummy): its allocations name different pools: a, b"
    ]


def test_a_device_of_two_pools_is_published_in_the_first_with_a_warning() -> None:
    pools = [PoolConfig(name=name, filter=EVERYTHING) for name in ("b", "a")]
    result = publication(replace(RULES, pools=pools), known(device()))
    assert published(result)["dummy0"].attributes["pool"] == "a"
    assert [str(warning) for warning in result.warnings] == [
        "device dummy0: pool: it matches several pools: a, b; a is used"
    ]


def test_a_withheld_device_is_named_with_its_reason_beside_the_one_that_took_its_name() -> None:
    stock = Stock(
        devices=(
            Stocked(device=device(), manager="dummy"),
            Stocked(device=device(), manager="macvlan", withheld="the name is taken by dummy"),
        )
    )
    result = publication(RULES, stock)
    assert published(result)["dummy0"].attributes["deviceManager"] == "dummy"
    assert [(d.manager, d.refusal) for d in result.decisions] == [
        ("dummy", ""),
        ("macvlan", "the name is taken by dummy"),
    ]


def test_an_attribute_that_is_far_too_long_costs_no_other_device_its_slice() -> None:
    ipvs = device("kube-ipvs0", attributes={"addresses": ",".join(f"10.96.0.{number}/32" for number in range(200))})
    result = publication(RULES, known(ipvs, device()))
    assert published(result).keys() == {"kube-ipvs0", "dummy0"}
    assert len(str(published(result)["kube-ipvs0"].attributes["addresses"]).encode()) == 64


def test_a_device_that_cannot_be_published_costs_no_other_device_its_slice() -> None:
    result = publication(RULES, known(device("Bad_Name"), device()))
    assert published(result).keys() == {"dummy0"}
    assert "DNS label" in refusals(result)["Bad_Name"]


def test_health_taints_the_devices_it_names() -> None:
    taint = Taint(key="net.example.org/unhealthy", value="true")
    result = publication(RULES, known(device(), device("dummy1")), taints={"dummy1": taint})
    assert {name: item.taints for name, item in published(result).items()} == {"dummy0": (), "dummy1": (taint,)}


def test_shareable_devices_are_left_out_below_kubernetes_1_34_and_the_others_are_published() -> None:
    stock = known(device(), device("queues", allow_multiple_allocations=True))
    result = publication(replace(RULES, server=Server(minor=33)), stock)
    assert published(result).keys() == {"dummy0"}
    assert any("1.34" in str(warning) for warning in result.warnings)


def partitioned(attribute: str, **fields: Any) -> Stock:
    counters = (CounterConsumption(counter_set="lanes", counters={"free": "1"}),)
    return Stock(
        devices=(Stocked(device=device(counters=counters, **fields), manager="dummy"),),
        counter_sets={"dummy": (CounterSet(name="lanes", counters={"free": "4"}),)},
        partition_types={"dummy": attribute},
    )


def test_the_partition_type_attribute_is_published_under_its_full_name() -> None:
    result = publication(RULES, partitioned("size", attributes={"size": "half"}))
    assert [spec.partition_type_attribute for spec in result.pool.slices] == [None, "net.example.org/size"]


def test_a_partition_without_the_attribute_is_published_in_a_slice_without_it() -> None:
    for attributes in ({}, {"size": 4}, {"other.org/size": "half"}):
        result = publication(RULES, partitioned("size", attributes=attributes))
        assert [spec.partition_type_attribute for spec in result.pool.slices] == [None, None]
        assert [warning.what for warning in result.warnings] == ["partition type"]


def test_a_partition_type_that_names_no_attribute_is_dropped_with_a_warning() -> None:
    result = publication(RULES, partitioned("Other.org/size", attributes={"Other.org/size": "half"}))
    assert [spec.partition_type_attribute for spec in result.pool.slices] == [None, None]
    assert [warning.what for warning in result.warnings] == ["partition type of dummy"]


def test_a_manager_cannot_consume_from_the_counter_set_of_another() -> None:
    counters = (CounterConsumption(counter_set="lanes", counters={"free": "1"}),)
    sets = (CounterSet(name="lanes", counters={"free": "4"}),)
    stock = Stock(
        devices=(
            Stocked(device=device("a", counters=counters), manager="a"),
            Stocked(device=device("b", counters=counters), manager="b"),
        ),
        counter_sets={"b": sets, "a": sets},
    )
    result = publication(RULES, stock)
    assert published(result).keys() == {"a"}
    assert [spec.counter_sets for spec in result.pool.slices if spec.counter_sets] == [sets]


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": None},
        {"taints": ("unhealthy",)},
        {"capacity": {"bw": 4}},
        {"filter_values": {"ifNames": 7}},
        {"counters": ({},)},
        {"node_allocatable": {"cpu": "1"}},
        {"binding_conditions": None},
    ],
)
def test_a_value_of_a_wrong_type_costs_that_device_only(fields: dict[str, Any]) -> None:
    pools = [PoolConfig(name="a", filter=PoolFilter(if_names=("eth0",))), PoolConfig(name="b", filter=EVERYTHING)]
    result = publication(replace(RULES, pools=pools), known(device("bad", **fields), device()))
    assert published(result).keys() == {"dummy0"}
    assert "wrong type" in refusals(result)["bad"]
