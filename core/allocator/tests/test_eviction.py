"""Which pods a NoExecute taint evicts, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman_allocator.accounting import Claims
from dragoman_allocator.decode import decode
from dragoman_allocator.eviction import Eviction, Taints, evictions
from dragoman_allocator.objects import DeviceTaintRule, Metadata, Pod, ResourceClaim, ResourceSlice
from dragoman_allocator.objects.pods import PodSpec

ADDED = datetime(2026, 1, 1, tzinfo=UTC)
TAINT = {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}


def part(name: str = "s1", generation: int = 1, **taints: list[dict[str, Any]]) -> ResourceSlice:
    pool = {"name": "p", "generation": generation, "resourceSliceCount": 1}
    devices = [{"name": device, "taints": each} for device, each in taints.items()]
    spec = {"driver": "driver-a", "pool": pool, "nodeName": "n1", "devices": devices}
    return decode(ResourceSlice, {"metadata": {"name": name}, "spec": spec})


def rule(name: str, selector: dict[str, str] | None, effect: str = "NoExecute") -> DeviceTaintRule:
    spec: dict[str, Any] = {"taint": TAINT | {"effect": effect}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return decode(DeviceTaintRule, {"metadata": {"name": name}, "spec": spec})


def claim(*tolerations: dict[str, Any], user: str = "uid-pod", device: str = "d1") -> ResourceClaim:
    result = {"request": "r", "driver": "driver-a", "pool": "p", "device": device, "tolerations": list(tolerations)}
    return decode(
        ResourceClaim,
        {
            "metadata": {"name": "a", "namespace": "ns", "uid": "uid-a"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
            "status": {
                "allocation": {"devices": {"results": [result]}},
                "reservedFor": [{"resource": "pods", "name": "pod", "uid": user}],
            },
        },
    )


def pod(node: str = "n1") -> Pod:
    return decode(
        Pod,
        {
            "metadata": {"name": "pod", "namespace": "ns", "uid": "uid-pod"},
            "spec": {
                "nodeName": node,
                "containers": [{"name": "c"}],
                "resourceClaims": [{"name": "nic", "resourceClaimName": "a"}],
            },
        },
    )


def evicted(
    of: ResourceClaim, *slices: ResourceSlice, rules: tuple[DeviceTaintRule, ...] = (), running: Pod | None = None
) -> list[Eviction]:
    return evictions([running or pod()], Claims([of]), Taints(slices, rules))


def toleration(seconds: int | None = None, **more: Any) -> dict[str, Any]:
    given = {"key": "k", "operator": "Exists", "effect": "NoExecute"} | more
    return given if seconds is None else given | {"tolerationSeconds": seconds}


def test_a_taint_that_is_not_tolerated_evicts_at_its_time() -> None:
    (eviction,) = evicted(claim(), part(d1=[TAINT]))
    assert (eviction.namespace, eviction.name, eviction.at) == ("ns", "pod", ADDED)
    assert [(cause.claim, cause.device, cause.rule) for cause in eviction.causes] == [("a", "d1", "")]


@pytest.mark.parametrize("effect", ["NoSchedule", "None"])
def test_other_effects_evict_nobody(effect: str) -> None:
    assert evicted(claim(), part(d1=[TAINT | {"effect": effect}])) == []


@pytest.mark.parametrize(("seconds", "after"), [(300, 300), (0, 0), (-5, 0)])
def test_a_toleration_with_an_end_delays_and_one_of_zero_or_less_does_not(seconds: int, after: int) -> None:
    (eviction,) = evicted(claim(toleration(seconds)), part(d1=[TAINT]))
    assert eviction.at == ADDED + timedelta(seconds=after)


def test_the_shortest_of_several_tolerations_counts_and_one_without_an_end_counts_most() -> None:
    (eviction,) = evicted(claim(toleration(300), toleration(60), toleration(600)), part(d1=[TAINT]))
    assert eviction.at == ADDED + timedelta(seconds=60)
    assert evicted(claim(toleration(60), toleration()), part(d1=[TAINT])) == []


def test_a_toleration_of_every_effect_helps_a_pod_in_but_does_not_keep_it() -> None:
    assert len(evicted(claim(toleration(effect="")), part(d1=[TAINT]))) == 1


def test_a_toleration_of_another_value_does_not_help() -> None:
    assert len(evicted(claim(toleration(operator="Equal", value="w")), part(d1=[TAINT]))) == 1
    assert evicted(claim(toleration(operator="Equal", value="v")), part(d1=[TAINT])) == []


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        ({}, 1),
        ({"device": "d1"}, 1),
        ({"driver": "driver-a", "pool": "p", "device": "d1"}, 1),
        ({"driver": "driver-a", "pool": "q"}, 0),
        (None, 0),
    ],
)
def test_a_rule_evicts_from_the_devices_that_it_selects(selector: dict[str, str] | None, count: int) -> None:
    found = evicted(claim(), part(d1=[]), rules=(rule("r1", selector),))
    assert [cause.rule for eviction in found for cause in eviction.causes] == ["r1"] * count


def test_a_rule_with_another_effect_evicts_nobody() -> None:
    assert evicted(claim(), part(d1=[]), rules=(rule("r1", {}, effect="NoSchedule"),)) == []


def test_a_rule_evicts_even_where_the_device_is_gone_from_the_slices() -> None:
    assert len(evicted(claim(device="gone"), part(d1=[]), rules=(rule("r1", {"driver": "driver-a"}),))) == 1


def test_taints_in_slices_of_an_older_generation_are_over() -> None:
    assert evicted(claim(), part("old", 1, d1=[TAINT]), part("new", 2, d1=[])) == []
    assert len(evicted(claim(), part("old", 1, d1=[]), part("new", 2, d1=[TAINT]))) == 1


def test_pods_that_are_not_on_a_node_or_do_not_hold_the_claim_stay() -> None:
    assert evicted(claim(), part(d1=[TAINT]), running=pod(node="")) == []
    assert evicted(claim(user="uid-other"), part(d1=[TAINT])) == []


def test_a_claim_that_is_being_deleted_still_evicts_for_it_is_there_until_its_pods_are_gone() -> None:
    going = replace(claim(), metadata=replace(claim().metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    assert len(evicted(going, part(d1=[TAINT]))) == 1


@pytest.mark.parametrize(("owner", "count"), [("uid-pod", 1), ("uid-other", 0)])
def test_the_claim_for_extended_resources_evicts_the_pod_that_it_was_made_for(owner: str, count: int) -> None:
    made = decode(Metadata, {"name": "a", "namespace": "ns", "ownerReferences": [{"uid": owner, "controller": True}]})
    running = decode(
        Pod,
        {
            "metadata": {"name": "pod", "namespace": "ns", "uid": "uid-pod"},
            "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
            "status": {"extendedResourceClaimStatus": {"resourceClaimName": "a", "requestMappings": []}},
        },
    )
    assert len(evicted(replace(claim(), metadata=made), part(d1=[TAINT]), running=running)) == count


def test_a_claim_that_a_pod_names_twice_is_one_cause() -> None:
    twice = [{"name": name, "resourceClaimName": "a"} for name in ("nic", "other")]
    running = replace(pod(), spec=decode(PodSpec, {"nodeName": "n1", "resourceClaims": twice}))
    (eviction,) = evicted(claim(), part(d1=[TAINT]), running=running)
    assert len(eviction.causes) == 1


def test_the_earliest_of_several_taints_decides_and_all_are_named() -> None:
    later = TAINT | {"key": "later", "timeAdded": "2026-01-02T00:00:00Z"}
    (eviction,) = evicted(claim(toleration(7 * 86400)), part(d1=[later, TAINT]))
    assert eviction.at == ADDED + timedelta(days=1)
    assert [cause.taint.key for cause in eviction.causes] == ["later", "k"]


def test_a_taint_without_a_time_evicts_at_once() -> None:
    untimed = {key: value for key, value in TAINT.items() if key != "timeAdded"}
    (eviction,) = evicted(claim(toleration(60)), part(d1=[untimed]))
    assert eviction.at is None


def test_a_toleration_of_centuries_wraps_around_as_in_the_controller() -> None:
    # 10^19 ns less 2^64, and a multiple of 2^64.
    (eviction,) = evicted(claim(toleration(10_000_000_000)), part(d1=[TAINT]))
    assert eviction.at == ADDED - timedelta(microseconds=8446744073709552)
    (eviction,) = evicted(claim(toleration(2**62)), part(d1=[TAINT]))
    assert eviction.at == ADDED


def test_a_toleration_that_ends_beyond_all_calendars_is_for_ever() -> None:
    late = TAINT | {"timeAdded": "9999-01-01T00:00:00Z"}
    assert evicted(claim(toleration(9_000_000_000)), part(d1=[late])) == []


def test_a_toleration_that_ends_before_all_calendars_evicts_at_once() -> None:
    early = TAINT | {"timeAdded": "0001-01-01T00:00:00Z"}
    (eviction,) = evicted(claim(toleration(10_000_000_000)), part(d1=[early]))
    assert eviction.at is None
