from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.model.slices import (
    COUNTER_SETS_PER_SLICE,
    DEVICES_PER_SLICE,
    FEATURED_DEVICES_PER_SLICE,
    Placed,
    PoolSpec,
    SliceSpec,
    is_featured,
    split,
)
from dragoman_hookspecs import CounterConsumption, CounterSet, Device, Taint

TAINTS = (Taint(key="k"),)
COUNTERS = (CounterConsumption(counter_set="s", counters={"c": "1"}),)


def plain(name: str) -> Placed:
    return Placed(device=Device(name=name, identity=name))


def tainted(name: str) -> Placed:
    return Placed(device=Device(name=name, identity=name, taints=TAINTS))


def partition(name: str, attribute: str | None) -> Placed:
    return Placed(device=Device(name=name, identity=name, counters=COUNTERS), partition_type=attribute)


def sizes(pool: PoolSpec) -> list[int]:
    return [len(spec.devices) for spec in pool.slices]


def names(count: int, prefix: str = "d") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


PLACED = st.lists(
    st.builds(
        lambda name, kind, attribute: {0: plain, 1: tainted}.get(kind, lambda n: partition(n, attribute))(name),
        st.integers(0, 400).map(lambda number: f"d{number}"),
        st.integers(0, 2),
        st.sampled_from([None, "x.org/kind", "x.org/size"]),
    ),
    max_size=300,
    unique_by=lambda placed: placed.device.name,
)
SETS = st.lists(
    st.integers(0, 40).map(lambda number: CounterSet(name=f"s{number}", counters={"c": "1"})),
    max_size=20,
    unique_by=lambda item: item.name,
)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(PLACED, SETS)
def test_no_device_and_no_counter_set_is_lost_or_doubled_and_no_limit_is_broken(
    devices: list[Placed], sets: list[CounterSet]
) -> None:
    pool = split("node", devices, sets)
    assert sorted(d.name for spec in pool.slices for d in spec.devices) == sorted(p.device.name for p in devices)
    assert sorted(s.name for spec in pool.slices for s in spec.counter_sets) == sorted(s.name for s in sets)
    for spec in pool.slices:
        featured = any(is_featured(device) for device in spec.devices)
        assert len(spec.devices) <= (FEATURED_DEVICES_PER_SLICE if featured else DEVICES_PER_SLICE)
        assert len(spec.counter_sets) <= COUNTER_SETS_PER_SLICE
        assert not (spec.devices and spec.counter_sets)
        assert list(spec.devices) == sorted(spec.devices, key=lambda device: device.name)
        if spec.partition_type_attribute is not None:
            assert all(device.counters for device in spec.devices)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(PLACED)
def test_each_device_is_in_a_slice_of_its_own_partition_type(devices: list[Placed]) -> None:
    wanted = {placed.device.name: placed.partition_type for placed in devices}
    for spec in split("node", devices).slices:
        assert {wanted[device.name] for device in spec.devices} <= {spec.partition_type_attribute}


@settings(derandomize=True, max_examples=60, deadline=None)
@given(PLACED, SETS, st.randoms(use_true_random=False))
def test_the_slices_do_not_depend_on_the_order_of_what_is_given(
    devices: list[Placed], sets: list[CounterSet], random: Random
) -> None:
    mixed, mixed_sets = list(devices), list(sets)
    random.shuffle(mixed)
    random.shuffle(mixed_sets)
    assert split("node", mixed, mixed_sets) == split("node", devices, sets)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.integers(65, 600), st.integers(0, 1000), st.booleans())
def test_one_device_more_changes_one_slice_or_splits_it(count: int, new: int, featured: bool) -> None:
    make = tainted if featured else plain
    before = split("node", [make(name) for name in names(count)])
    after = split("node", [make(name) for name in [*names(count), f"new{new}"]])
    assert len(set(map(by_name, before.slices)) - set(map(by_name, after.slices))) == 1
    assert len(set(map(by_name, after.slices)) - set(map(by_name, before.slices))) >= 1


def by_name(spec: SliceSpec) -> tuple[str, ...]:
    return tuple(device.name for device in spec.devices)


def test_a_pool_without_devices_is_one_empty_slice() -> None:
    assert split("node", []) == PoolSpec(name="node", slices=(SliceSpec(),))


@pytest.mark.parametrize(("count", "slices"), [(1, 1), (128, 1), (129, 2)])
def test_128_plain_devices_fill_a_slice_and_one_more_makes_two(count: int, slices: int) -> None:
    assert len(sizes(split("node", map(plain, names(count))))) == slices


@pytest.mark.parametrize(("count", "slices"), [(64, 1), (65, 2)])
def test_64_tainted_devices_fill_a_slice_and_one_more_makes_two(count: int, slices: int) -> None:
    assert len(sizes(split("node", map(tainted, names(count))))) == slices


def test_one_tainted_device_leaves_the_plain_ones_their_full_slice() -> None:
    assert sizes(split("node", [*map(plain, names(128)), tainted("t")])) == [128, 1]


def test_a_small_pool_stays_one_slice_when_a_taint_comes() -> None:
    assert sizes(split("node", [*map(plain, names(63)), tainted("t")])) == [64]


def test_a_list_attribute_halves_the_limit() -> None:
    listed = [Placed(device=Device(name=name, identity=name, attributes={"l": (1,)})) for name in names(65)]
    assert len(split("node", listed).slices) == 2


def test_counter_sets_are_in_slices_of_their_own_by_eight() -> None:
    sets = [CounterSet(name=name, counters={"c": "1"}) for name in names(9, "s")]
    pool = split("node", [plain("d")], sets)
    assert [(len(spec.counter_sets), len(spec.devices)) for spec in pool.slices] == [(8, 0), (1, 0), (0, 1)]


def test_two_partition_type_attributes_are_in_two_slices() -> None:
    pool = split("node", [partition("a", "x.org/size"), partition("b", "x.org/kind"), partition("c", None), plain("d")])
    found = [(spec.partition_type_attribute, [device.name for device in spec.devices]) for spec in pool.slices]
    assert found == [(None, ["c", "d"]), ("x.org/kind", ["b"]), ("x.org/size", ["a"])]
