from __future__ import annotations

import pytest

from dragoman.model.claims import ClaimRef
from dragoman.model.pools import Assignment, PoolConfig, PoolFilter, assign, matches, pins
from dragoman.model.records import AllocationKey, AllocationRow
from dragoman.model.states import AllocationState
from dragoman_hookspecs import Device, FilterValue, Match

VF = Device(
    name="0000-03-00-1",
    identity="0000:03:00.1",
    filter_values={
        "ifNames": "ens1f0v1",
        "pfNames": "ens1f0",
        "parentIfNames": Match.ALWAYS,
        "pciAddrs": "0000:03:00.1",
        "vendorIDs": "0x15b3",
        "deviceIDs": "0x101e",
        "drivers": "mlx5_core",
    },
)
DUMMY = Device(name="dummy0", identity="tag", filter_values={"ifNames": "dummy0", "pfNames": Match.ALWAYS})
EVERYTHING = PoolFilter()


def row(device: Device, pool: str | None, *, admin: bool = False, share: str = "") -> AllocationRow:
    return AllocationRow(
        key=AllocationKey(
            claim_uid=f"c-{pool}-{share}", request="r", driver="d", pool="node", device=device.name, share_id=share
        ),
        claim=ClaimRef(uid="c", namespace="n", name="c"),
        position=0,
        state=AllocationState.PREPARED,
        manager="dummy",
        distribution="dragoman-dummy",
        plugin_version="1",
        device=device,
        logical_pool=pool,
        admin_access=admin,
    )


@pytest.mark.parametrize(
    ("wanted", "vf", "dummy"),
    [
        (PoolFilter(device_managers=("sr-iov",)), True, False),
        (PoolFilter(device_managers=("dummy",)), False, True),
        (PoolFilter(device_managers=("dummy", "sr-iov")), True, True),
        (PoolFilter(if_names=("ens1f0v1",)), True, False),
        (PoolFilter(if_names=("dummy0", "dummy1")), False, True),
        (PoolFilter(if_names=("ens1f0",)), False, False),
        (PoolFilter(pf_names=("ens1f0",)), True, True),
        (PoolFilter(pf_names=("ens2f0",)), False, True),
        (PoolFilter(parent_if_names=("bond0",)), True, False),
        (PoolFilter(pci_addrs=("0000:03:00.1",)), True, False),
        (PoolFilter(vendor_ids=("0x15b3",)), True, False),
        (PoolFilter(vendor_ids=("15b3",)), False, False),
        (PoolFilter(device_ids=("0x101e", "0x1018")), True, False),
        (PoolFilter(drivers=("mlx5_core",)), True, False),
        (PoolFilter(drivers=("vfio-pci",)), False, False),
    ],
)
def test_each_filter_field_answers_for_each_kind_of_device(wanted: PoolFilter, vf: bool, dummy: bool) -> None:
    assert matches(wanted, VF, "sr-iov") is vf
    assert matches(wanted, DUMMY, "dummy") is dummy


def test_fields_are_anded() -> None:
    assert matches(PoolFilter(pf_names=("ens1f0",), drivers=("mlx5_core",)), VF, "sr-iov")
    assert not matches(PoolFilter(pf_names=("ens1f0",), drivers=("vfio-pci",)), VF, "sr-iov")


def test_without_a_filter_nothing_matches_and_an_empty_filter_matches_everything() -> None:
    assert not matches(None, VF, "sr-iov")
    assert matches(EVERYTHING, VF, "sr-iov")


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (frozenset({"eth0", "eth1"}), True),
        (frozenset({"eth2"}), False),
        (frozenset(), False),
        (Match.NEVER, False),
        (Match.ALWAYS, True),
    ],
)
def test_a_device_with_several_values_matches_by_any_of_them(value: FilterValue, answer: bool) -> None:
    device = Device(name="d", identity="i", filter_values={"ifNames": value})
    assert matches(PoolFilter(if_names=("eth1",)), device, "x") is answer


def test_a_manager_cannot_answer_for_another_type() -> None:
    device = Device(name="d", identity="i", filter_values={"deviceManagers": "sr-iov"})
    assert not matches(PoolFilter(device_managers=("sr-iov",)), device, "dummy")


def test_without_pools_every_device_is_published_without_a_pool() -> None:
    assert assign(VF, "sr-iov", ()) == Assignment()


def test_a_device_that_matches_no_pool_is_not_advertised() -> None:
    assert assign(VF, "sr-iov", [PoolConfig(name="a")]).refusal == "no pool matches it"


def test_the_alphabetically_first_pool_wins_and_the_ambiguity_is_told() -> None:
    pools = [PoolConfig(name="b", filter=EVERYTHING), PoolConfig(name="a", filter=EVERYTHING), PoolConfig(name="A0")]
    assert assign(VF, "sr-iov", pools) == Assignment(pool="a", ambiguity="it matches several pools: a, b")


def test_an_allocated_device_keeps_its_recorded_pool_whatever_the_filters_say() -> None:
    pools = [PoolConfig(name="a", filter=EVERYTHING), PoolConfig(name="b")]
    assert assign(VF, "sr-iov", pools, pins([row(VF, "b")])[VF.name]).pool == "b"


@pytest.mark.parametrize("recorded", ["gone", None])
def test_a_recorded_pool_holds_even_if_it_is_configured_no_more_or_was_none(recorded: str | None) -> None:
    pools = [PoolConfig(name="a", filter=EVERYTHING)]
    assert assign(VF, "sr-iov", pools, pins([row(VF, recorded)])[VF.name]) == Assignment(pool=recorded)


def test_shares_in_one_pool_keep_the_parent_there_and_shares_in_two_withdraw_it() -> None:
    pools = [PoolConfig(name="a", filter=EVERYTHING)]
    agreed = pins([row(VF, "b", share="s1"), row(VF, "b", share="s2")])
    assert assign(VF, "sr-iov", pools, agreed[VF.name]).pool == "b"
    torn = pins([row(VF, "b", share="s1"), row(VF, "a", share="s2")])
    assert assign(VF, "sr-iov", pools, torn[VF.name]).refusal == "its allocations name different pools: a, b"


def test_a_pool_and_no_pool_are_a_conflict_too() -> None:
    torn = pins([row(VF, None, share="s1"), row(VF, "a", share="s2")])
    assert assign(VF, "sr-iov", (), torn[VF.name]).refusal == "its allocations name different pools: (none), a"


def test_admin_access_pins_nothing() -> None:
    assert pins([row(VF, "b", admin=True)]) == {}
