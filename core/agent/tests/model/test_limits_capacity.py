from __future__ import annotations

from typing import Any

import pytest

from dragoman.model.capacities import fit_capacity
from dragoman.model.limits import Unfit
from dragoman.model.node_allocatable import fit_node_allocatable, node_allocatable_fault
from dragoman_hookspecs import (
    Capacity,
    NodeAllocatable,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    RequestPolicy,
)


def fit(capacity: dict[str, Capacity], *, shareable: bool, room: int = 30) -> tuple[dict[str, Capacity], list[str]]:
    warnings: list[str] = []
    kept = fit_capacity(
        capacity, shareable=shareable, room=room, warn=lambda what, why: warnings.append(f"{what}: {why}")
    )
    return kept, warnings


def policy_survives(value: str, **policy: Any) -> bool:
    kept, warnings = fit({"bw": Capacity(value=value, policy=RequestPolicy(**policy))}, shareable=True)
    assert bool(warnings) == (kept["bw"].policy is None)
    return kept["bw"].policy is not None


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        ("10", {}),
        ("10", {"default": "11"}),
        ("10", {"default": "-1"}),
        ("4", {"default": "1", "valid_values": ("1",)}),
        ("1Gi", {"default": "1000m", "valid_values": ("1", "512Mi", "1024Mi")}),
        ("10", {"default": "1", "valid_values": tuple(str(number) for number in range(1, 11))}),
        ("10", {"default": "2", "minimum": "1"}),
        ("10", {"default": "2", "minimum": "-1", "maximum": "10"}),
        ("10G", {"default": "1G", "minimum": "1G", "maximum": "10G", "step": "1G"}),
        ("10", {"default": "3", "minimum": "1", "step": "2"}),
        ("10", {"default": "1500m", "minimum": "1500m"}),
        ("1", {"default": "500m", "minimum": "500m", "step": "500m"}),
    ],
)
def test_a_policy_that_the_api_takes_is_kept(value: str, policy: dict[str, Any]) -> None:
    assert policy_survives(value, **policy)


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        ("10", {"default": "x"}),
        ("4", {"valid_values": ("1",)}),
        ("4", {"minimum": "1"}),
        ("4", {"default": "1", "valid_values": ("1",), "minimum": "1"}),
        ("4", {"default": "3", "valid_values": ("1", "2")}),
        ("4", {"default": "1", "valid_values": ("2", "1")}),
        ("4", {"default": "1", "valid_values": ("1", "1000m")}),
        ("4", {"default": "1100m", "valid_values": ("1100m", "1200m")}),
        ("4", {"default": "1", "valid_values": ("1", "5")}),
        ("20", {"default": "1", "valid_values": tuple(str(number) for number in range(1, 12))}),
        ("10", {"default": "1", "maximum": "10"}),
        ("10", {"default": "1", "minimum": "2"}),
        ("10", {"default": "5", "minimum": "1", "maximum": "4"}),
        ("10", {"default": "1", "minimum": "1", "maximum": "11"}),
        ("10", {"default": "1", "minimum": "1", "step": "0"}),
        ("10", {"default": "-1", "minimum": "-1", "step": "1"}),
        ("10", {"default": "1", "minimum": "1", "step": "10"}),
        ("10", {"default": "2", "minimum": "1", "step": "2"}),
        ("10", {"default": "1", "minimum": "1", "maximum": "4", "step": "2"}),
        ("9E", {"default": "0", "minimum": "0", "maximum": "9E", "step": "10E"}),
        ("10", {"default": "2500m", "minimum": "1", "maximum": "4", "step": "1500m"}),
        ("10", {"default": "3", "minimum": "1", "step": "1500m"}),
        ("10", {"default": "1", "minimum": "1u"}),
        ("9E", {"default": "500m", "minimum": "0", "maximum": "9E"}),
    ],
)
def test_a_policy_that_the_api_refuses_is_dropped_and_the_capacity_stays(value: str, policy: dict[str, Any]) -> None:
    assert not policy_survives(value, **policy)


def test_only_a_shareable_device_can_have_a_policy() -> None:
    kept, warnings = fit({"bw": Capacity(value="4", policy=RequestPolicy(default="1"))}, shareable=False)
    assert kept == {"bw": Capacity(value="4")}
    assert warnings == ["capacity bw: request policy dropped: only a shareable device can have one"]


@pytest.mark.parametrize(("name", "value"), [("bw", "4K"), ("bw", ""), ("bw", "1e99999999"), ("bw", 4), ("b w", "4")])
def test_a_bad_capacity_is_dropped_from_an_exclusive_device_and_leaves_a_shareable_one_out(
    name: str, value: Any
) -> None:
    capacity = {name: Capacity(value=value), "good": Capacity(value="1")}
    kept, warnings = fit(capacity, shareable=False)
    assert (list(kept), len(warnings)) == (["good"], 1)
    with pytest.raises(Unfit, match="shared without limit"):
        fit(capacity, shareable=True)


def test_of_too_many_capacities_the_first_by_name_stay() -> None:
    capacity = {f"c{number}": Capacity(value="1") for number in (3, 1, 2)}
    assert list(fit(capacity, shareable=False, room=2)[0]) == ["c1", "c2"]
    with pytest.raises(Unfit, match="too many capacities"):
        fit(capacity, shareable=True, room=2)


MAPPED = NodeAllocatable(mapping=NodeAllocatableMapping(capacity_key="cores", capacity_multiplier="2"))
COUNTED = NodeAllocatable(mapping=NodeAllocatableMapping(device_multiplier="8"))
OVERHEAD = NodeAllocatable(overhead=NodeAllocatableOverhead(per_pod="0", per_container="64Mi"))


@pytest.mark.parametrize(
    ("resource", "entry"),
    [
        ("cpu", MAPPED),
        ("memory", COUNTED),
        ("hugepages-2Mi", OVERHEAD),
        ("cpu", NodeAllocatable(mapping=COUNTED.mapping, overhead=OVERHEAD.overhead)),
    ],
)
def test_mapping_and_overhead_that_the_api_takes_are_kept(resource: str, entry: NodeAllocatable) -> None:
    assert node_allocatable_fault(resource, entry, {"cores"}) == ""


@pytest.mark.parametrize(
    ("resource", "entry", "reason"),
    [
        ("ephemeral-storage", OVERHEAD, "only cpu"),
        ("example.com/gpu", OVERHEAD, "only cpu"),
        ("cpu", NodeAllocatable(), "a mapping or an overhead"),
        ("cpu", NodeAllocatable(mapping=NodeAllocatableMapping()), "either"),
        ("cpu", NodeAllocatable(mapping=NodeAllocatableMapping(capacity_key="cores")), "need each other"),
        ("cpu", NodeAllocatable(mapping=NodeAllocatableMapping(capacity_multiplier="2")), "need each other"),
        (
            "cpu",
            NodeAllocatable(
                mapping=NodeAllocatableMapping(capacity_key="cores", capacity_multiplier="2", device_multiplier="1")
            ),
            "either",
        ),
        (
            "cpu",
            NodeAllocatable(mapping=NodeAllocatableMapping(capacity_key="x.org/cores", capacity_multiplier="2")),
            "spelt exactly",
        ),
        ("cpu", NodeAllocatable(mapping=NodeAllocatableMapping(device_multiplier="0")), "larger than 0"),
        ("cpu", NodeAllocatable(mapping=NodeAllocatableMapping(device_multiplier="2x")), "not a quantity"),
        ("cpu", NodeAllocatable(overhead=NodeAllocatableOverhead()), "for each pod"),
        ("cpu", NodeAllocatable(overhead=NodeAllocatableOverhead(per_pod="-1")), "negative"),
        ("cpu", NodeAllocatable(mapping=COUNTED.mapping, overhead=NodeAllocatableOverhead(per_pod="-1")), "negative"),
    ],
)
def test_an_entry_that_the_api_refuses_is_named_with_the_reason(
    resource: str, entry: NodeAllocatable, reason: str
) -> None:
    assert reason in node_allocatable_fault(resource, entry, {"cores"})


def test_a_bad_entry_is_dropped_and_the_others_stay_in_name_order() -> None:
    warnings: list[str] = []
    kept = fit_node_allocatable(
        {"memory": OVERHEAD, "cpu": MAPPED, "disk": OVERHEAD}, {"cores"}, lambda what, _: warnings.append(what)
    )
    assert list(kept) == ["cpu", "memory"]
    assert warnings == ["node-allocatable resource disk"]
