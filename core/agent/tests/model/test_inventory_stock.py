from __future__ import annotations

from typing import Any, cast

import pytest

from dragoman.model.claims import ClaimRef
from dragoman.model.records import AllocationKey, AllocationRow
from dragoman.model.states import AllocationState
from dragoman.model.stock import Stock, listing_fault, merge
from dragoman_hookspecs import CounterSet, Device, Inventory, Taint


def device(name: str, **fields: Any) -> Device:
    return Device(name=name, identity=f"id-{name}", **fields)


def row(held: Device, *, manager: str = "sr-iov", share: str = "", admin: bool = False) -> AllocationRow:
    return AllocationRow(
        key=AllocationKey(claim_uid="c", request="r", driver="d", pool="n", device=held.name, share_id=share),
        claim=ClaimRef(uid="c", namespace="n", name="c"),
        position=0,
        state=AllocationState.PREPARED,
        manager=manager,
        distribution=f"dragoman-{manager}",
        plugin_version="1",
        device=held,
        admin_access=admin,
    )


def lists(**devices: Device | list[Device]) -> dict[str, Inventory]:
    return {
        manager.replace("_", "-"): Inventory(devices=tuple(given) if isinstance(given, list) else (given,))
        for manager, given in devices.items()
    }


def withheld(stock: Stock) -> dict[tuple[str, str], str]:
    return {(item.device.name, item.manager): item.withheld for item in stock.devices if item.withheld}


def test_devices_of_all_managers_stand_in_name_order() -> None:
    stock = merge(lists(dummy=[device("b"), device("a")], macvlan=device("aa")), [])
    assert [(item.device.name, item.manager) for item in stock.devices] == [
        ("a", "dummy"),
        ("aa", "macvlan"),
        ("b", "dummy"),
    ]


def test_of_colliding_names_the_first_manager_keeps_its_device_and_both_are_named() -> None:
    stock = merge(lists(dummy=device("eth0"), macvlan=device("eth0")), [])
    assert stock.owners() == {"eth0": "dummy"}
    assert withheld(stock) == {
        ("eth0", "macvlan"): "managers dummy and macvlan both have a device of this name; that of dummy is used"
    }


def test_a_name_that_the_ledger_holds_belongs_to_its_manager_even_if_another_lists_it_first() -> None:
    stock = merge(lists(dummy=device("eth0"), macvlan=device("eth0")), [row(device("eth0"), manager="macvlan")])
    assert stock.owners() == {"eth0": "macvlan"}
    assert ("eth0", "dummy") in withheld(stock)


def test_a_manager_that_lists_a_name_twice_keeps_the_first() -> None:
    stock = merge(lists(dummy=[device("eth0", link="a"), device("eth0", link="b")]), [])
    assert [item.device.link for item in stock.devices if not item.withheld] == ["a"]
    assert withheld(stock) == {("eth0", "dummy"): "manager dummy lists it twice; the first is used"}


def test_a_device_inside_a_pod_that_no_scan_sees_stays_as_it_was_recorded() -> None:
    vf = device("vf1", attributes={"kernelIfName": "ens1v1"})
    stock = merge(lists(sr_iov=[]), [row(vf)])
    assert [(item.device, item.manager, item.seen) for item in stock.devices] == [(vf, "sr-iov", False)]


def test_a_device_that_the_scan_sees_less_of_while_it_is_in_a_pod_stands_as_it_was_recorded() -> None:
    recorded = device("vf1", attributes={"kernelIfName": "ens1v1", "mtu": 1500})
    bare = device("vf1", attributes={"kernelIfName": ""}, taints=(Taint(key="x"),))
    stock = merge(lists(sr_iov=bare), [row(recorded)])
    assert stock.devices[0].device.attributes == recorded.attributes
    assert stock.devices[0].device.taints == (Taint(key="x"),)
    assert stock.devices[0].seen


def test_a_shared_device_stands_as_it_is_seen_now_whatever_its_shares_recorded() -> None:
    now = device("nic", attributes={"mtu": 9000}, allow_multiple_allocations=True)
    stock = merge(lists(sr_iov=now), [row(device("nic"), share="s1"), row(device("nic"), share="s2")])
    assert [item.device for item in stock.devices] == [now]


def test_admin_access_keeps_no_device_alive() -> None:
    assert merge(lists(sr_iov=[]), [row(device("vf1"), admin=True)]).devices == ()


def test_a_device_that_was_destroyed_leaves_with_its_last_allocation() -> None:
    gone, other = device("a"), device("b")
    assert {item.device.name for item in merge(lists(dummy=other), [row(gone)]).devices} == {"a", "b"}
    assert {item.device.name for item in merge(lists(dummy=other), []).devices} == {"b"}


def test_exclusive_devices_on_a_protected_link_are_withheld_and_others_on_it_are_not() -> None:
    stock = merge(
        lists(
            nic=[device("eth0", link="eth0"), device("eth1", link="eth1")],
            queues=device("eth0q", link="eth0", allow_multiple_allocations=True),
            macvlan=device("eth0-0"),
        ),
        [],
        frozenset({"eth0", "bond0"}),
    )
    assert withheld(stock) == {
        ("eth0", "nic"): "link eth0 carries a default route of the host, or is part of a link that does"
    }


def test_an_allocated_device_stands_even_if_the_host_has_an_uplink_of_its_former_name_now() -> None:
    nic = device("nic", link="eth1")
    assert withheld(merge(lists(sr_iov=nic), [row(nic)], frozenset({"eth1"}))) == {}


@pytest.mark.parametrize(("link", "shareable", "count"), [("eth0", False, 1), ("eth0", True, 0), (None, False, 0)])
def test_while_the_uplinks_are_not_known_exclusive_links_are_withheld(
    link: str | None, shareable: bool, count: int
) -> None:
    stock = merge(lists(nic=device("eth0", link=link, allow_multiple_allocations=shareable)), [], None)
    assert len(withheld(stock)) == count


def test_counter_sets_and_partition_types_are_kept_by_manager() -> None:
    sets = (CounterSet(name="s", counters={"c": "1"}),)
    stock = merge({"a": Inventory(devices=(), counter_sets=sets, partition_type_attribute="kind")}, [])
    assert (stock.counter_sets, stock.partition_types) == ({"a": sets}, {"a": "kind"})


@pytest.mark.parametrize(
    "listing",
    [
        Inventory(devices=cast("Any", ("eth0",))),
        Inventory(devices=(Device(name=cast("Any", 7), identity="x"),)),
        Inventory(devices=(device("a", link=["eth0"]),)),
        Inventory(devices=(), counter_sets=cast("Any", ({"name": "s"},))),
        Inventory(devices=(), counter_sets=(CounterSet(name="s", counters=cast("Any", 4)),)),
        Inventory(devices=(), partition_type_attribute=cast("Any", 4)),
    ],
)
def test_a_list_whose_devices_cannot_be_told_apart_is_refused_as_a_whole(listing: Inventory) -> None:
    assert "is not a" in listing_fault(listing)


def test_a_list_of_the_right_types_has_no_fault() -> None:
    sets = (CounterSet(name="s", counters={}),)
    assert listing_fault(Inventory(devices=(device("a", link="b"),), counter_sets=sets)) == ""
