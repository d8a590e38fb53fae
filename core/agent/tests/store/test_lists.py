from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from dragoman.store.codec import NotStorable
from dragoman.store.ledger import Ledger
from dragoman.store.lists import KeptLists
from dragoman_hookspecs import (
    Capacity,
    CounterConsumption,
    CounterSet,
    Device,
    Inventory,
    Match,
    NodeAllocatable,
    NodeAllocatableMapping,
    RequestPolicy,
    Taint,
    Version,
)

FULL = Inventory(
    devices=(
        Device(
            name="nic",
            identity="0000:03:00.0",
            attributes={"up": True, "mtu": 1, "model": "x", "fw": Version("1.0.0"), "numa": (0, 1), "ips": ("a",)},
            capacity={"bw": Capacity(value="10G", policy=RequestPolicy(default="1G", valid_values=("1G",)))},
            allow_multiple_allocations=True,
            counters=(CounterConsumption(counter_set="s", counters={"c": "1"}),),
            taints=(Taint(key="k", effect="NoExecute"),),
            node_allocatable={"cpu": NodeAllocatable(mapping=NodeAllocatableMapping(device_multiplier="1"))},
            filter_values={"ifNames": frozenset({"eth0"}), "pfNames": Match.ALWAYS, "drivers": "mlx5_core"},
            link="eth0",
        ),
        Device(name="other", identity="x"),
    ),
    counter_sets=(CounterSet(name="s", counters={"c": "4"}),),
    partition_type_attribute="size",
)


def test_a_list_survives_a_restart_without_loss(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path, "boot")
    KeptLists(ledger.meta, ledger.set_meta).save("nic", FULL)
    ledger.close()
    ledger = Ledger.open(tmp_path, "boot")
    lists = KeptLists(ledger.meta, ledger.set_meta)
    assert lists.load("nic") == FULL
    assert lists.load("dummy") is None
    ledger.close()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"devices":[{"identity":3}]}', '{"devices":[{"name":"a"}]}'])
def test_a_list_that_cannot_be_read_is_as_good_as_none(text: str) -> None:
    assert KeptLists(lambda _: text, lambda *_: None).load("nic") is None


def test_a_device_that_cannot_be_kept_is_told() -> None:
    strange = Device(name="a", identity="b", attributes={"x": cast("Any", object())})
    with pytest.raises(NotStorable, match="Device"):
        KeptLists(lambda _: None, lambda *_: None).save("nic", Inventory(devices=(strange,)))
