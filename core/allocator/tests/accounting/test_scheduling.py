"""Whether a pod with claims gets through the scheduler's plugin on a node, and with which words if not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from dragoman_allocator.accounting import Attempt, Claims, Cluster, Status
from dragoman_allocator.allocation import Allocator
from dragoman_allocator.decode import decode
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceClass, Node, Pod, ResourceClaim, ResourceSlice

FEATURES = Features.of({"DRANodeAllocatableResources": True})
RESULT = {"request": "r", "driver": "driver-a", "pool": "p", "device": "d1"}
CPU = {"cpu": {"mapping": {"deviceMultiplier": "6"}}}


def claim(name: str = "a", *, allocated: bool = False, reserved: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    status: dict[str, Any] = {}
    if allocated:
        status["allocation"] = {"devices": {"results": [RESULT | more.pop("result", {})]}} | more.pop("allocation", {})
    if reserved:
        status["reservedFor"] = [{"resource": "pods", "name": uid, "uid": uid} for uid in reserved]
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"} | more.pop("metadata", {}),
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
        "status": status | more.pop("status", {}),
    } | more


def pod(*claims: str, cpu: str = "0", **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu}, "claims": [{"name": each} for each in claims]}
    return {
        "metadata": {"name": "pod", "namespace": "ns", "uid": "uid-pod"},
        "spec": {
            "containers": [{"name": "c1", "resources": resources}],
            "resourceClaims": [{"name": each, "resourceClaimName": each} for each in claims],
        }
        | spec,
    }


def attempt(
    of: dict[str, Any],
    *claims: dict[str, Any],
    device: dict[str, Any] | None = None,
    others: tuple[Any, ...] = (),
    give_up: Callable[[], bool] | None = None,
) -> Attempt:
    """Try a pod on a node of 8 cpus with one device ``d1`` and class ``c``."""
    part = {
        "metadata": {"name": "s1"},
        "spec": {
            "driver": "driver-a",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n1",
            "devices": [{"name": "d1", "nodeAllocatableResources": CPU if device is None else device}],
        },
    }
    slices, known = [decode(ResourceSlice, part)], [decode(ResourceClaim, each) for each in claims]
    classes = [decode(DeviceClass, {"metadata": {"name": "c"}, "spec": {}})]
    cluster = Cluster(
        claims=Claims(known),
        classes=classes,
        slices=slices,
        allocator=Allocator(slices, classes, (), known, FEATURES),
        features=FEATURES,
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )
    node = decode(Node, {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "8", "memory": "8Gi"}}})
    return cluster.try_pod(decode(Pod, of), node, [decode(Pod, each) for each in others], give_up=give_up)


def said(status: Status | None) -> tuple[str, ...]:
    assert status is not None
    return (status.code.value, *status.reasons)


def test_a_pod_that_fits_gets_its_allocation_and_its_charge() -> None:
    result = attempt(pod("a", cpu="2"), claim())
    assert [said(each) for each in (result.pre_filter, result.filter, result.reserve)] == [("Success",)] * 3
    assert list(result.allocations) == ["uid-a"]
    assert [each.resource_claim_name for each in result.statuses or ()] == ["a"]


def test_a_pod_without_claims_is_skipped() -> None:
    result = attempt(pod())
    assert (said(result.pre_filter), result.filter, result.reserve) == (("Skip",), None, None)


def test_a_node_that_is_too_full_may_become_free_and_one_that_is_too_small_never_does() -> None:
    running = pod(cpu="3")
    assert said(attempt(pod("a"), claim(), others=(running,)).filter) == ("Unschedulable", "Insufficient cpu")
    too_much = {"cpu": {"mapping": {"deviceMultiplier": "9"}}}
    assert said(attempt(pod("a"), claim(), device=too_much).filter) == (
        "UnschedulableAndUnresolvable",
        "Insufficient cpu",
    )


def test_an_allocation_with_a_broken_node_selector_ends_before_the_class_of_a_later_claim_is_asked_for() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": []}]}]
    broken = claim(allocated=True, allocation={"nodeSelector": {"nodeSelectorTerms": terms}})
    other = claim("b")
    other["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "gone"
    words = "nodeSelectorTerms[0].matchFields[0].values: Invalid value: []: must have one element"
    assert said(attempt(pod("a", "b"), broken, other).pre_filter) == ("Error", words)
    missing = said(attempt(pod("b", "a"), broken, other).pre_filter)
    assert missing == ("UnschedulableAndUnresolvable", "request r: device class gone does not exist")


def test_a_search_that_is_given_up_is_an_error_that_names_the_node() -> None:
    result = attempt(pod("a"), claim(), give_up=lambda: True)
    assert said(result.filter) == ("Error", "node n1: timed out trying to allocate devices")


def test_a_pod_whose_claims_add_nothing_is_not_measured() -> None:
    running = pod(cpu="100")
    assert said(attempt(pod("a"), claim(), device={}, others=(running,)).filter) == ("Success",)


def test_what_running_pods_got_through_claims_is_taken() -> None:
    running = pod(cpu="1") | {
        "status": {
            "nodeAllocatableResourceClaimStatuses": [
                {"resourceClaimName": "x", "mapping": [{"name": "cpu", "quantity": "2"}]}
            ]
        }
    }
    assert said(attempt(pod("a"), claim(), others=(running,)).filter) == ("Unschedulable", "Insufficient cpu")
    assert said(attempt(pod("a"), claim(), others=(pod(cpu="2"),)).filter) == ("Success",)


@pytest.mark.parametrize(("mapped", "code"), [("5", "Success"), ("6", "UnschedulableAndUnresolvable")])
def test_the_budget_of_the_whole_pod_has_to_cover_its_claims(mapped: str, code: str) -> None:
    device = {"cpu": {"mapping": {"deviceMultiplier": mapped}}}
    result = attempt(pod("a", cpu="3", resources={"requests": {"cpu": "8"}}), claim(), device=device)
    assert said(result.filter)[0] == code


def test_a_limit_of_the_whole_pod_has_to_cover_each_container_with_its_claims() -> None:
    limited = pod("a", resources={"limits": {"cpu": "8"}})
    limited["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "3"}
    assert said(attempt(limited, claim()).filter) == (
        "UnschedulableAndUnresolvable",
        "pod level limit for cpu is insufficient to cover the limit and DRA overhead for container c1",
    )


def test_a_claim_with_a_mapped_device_is_for_one_pod() -> None:
    held = claim(allocated=True, reserved=("uid-other",))
    assert said(attempt(pod("a"), held).filter) == (
        "UnschedulableAndUnresolvable",
        "node allocatable resource claim a has a mapped device and cannot be shared across pods",
    )
    overhead = {"cpu": {"overhead": {"perPod": "1"}}}
    assert said(attempt(pod("a"), held, device=overhead).filter) == ("Success",)
    assert said(attempt(pod("a"), claim(allocated=True, reserved=("uid-pod",))).filter) == ("Success",)


def test_a_claim_without_the_capacity_that_is_counted_is_an_error() -> None:
    device = {"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "1"}}}
    code, reason = said(attempt(pod("a"), claim(), device=device).filter)
    assert code == "Error"
    assert "ConsumedCapacity is nil" in reason


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ((), 'could not find ResourceClaim "ns/a"'),
        ((claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),), 'resourceclaim "a" is being deleted'),
        (
            (claim(spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "nope"}}]}}),),
            "request r: device class nope does not exist",
        ),
        (
            (
                claim(
                    spec={
                        "devices": {
                            "requests": [{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "nope"}]}]
                        }
                    }
                ),
            ),
            "request r/s: device class nope does not exist",
        ),
        (
            (claim(spec={"devices": {"requests": [{"name": "r"}]}}),),
            "resource claim ns/a, request r: unknown request type",
        ),
    ],
)
def test_a_pod_whose_claims_cannot_be_allocated_at_all_stops_before_any_node(
    given: tuple[dict[str, Any], ...], reason: str
) -> None:
    assert said(attempt(pod("a"), *given).pre_filter) == ("UnschedulableAndUnresolvable", reason)


def test_a_generated_claim_has_to_belong_to_the_pod() -> None:
    generated = pod(resourceClaims=[{"name": "nic", "resourceClaimTemplateName": "t"}])
    assert said(attempt(generated).pre_filter)[1] == 'pod "ns/pod": ResourceClaim not created yet'
    generated |= {"status": {"resourceClaimStatuses": [{"name": "nic", "resourceClaimName": "a"}]}}
    assert "(Pod is not owner)" in said(attempt(generated, claim()).pre_filter)[1]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "uid-pod", "controller": True}
    assert said(attempt(generated, claim(metadata={"ownerReferences": [owner]})).pre_filter) == ("Success",)
    generated["status"] = {"resourceClaimStatuses": [{"name": "nic"}]}
    assert said(attempt(generated).pre_filter) == ("Skip",)


@pytest.mark.parametrize(
    "unusable",
    [
        {
            "allocation": {
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
                    ]
                }
            }
        },
        {"result": {"skipNodeOperations": ["*"]}},
        {
            "result": {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]},
            "status": {
                "devices": [
                    {
                        "driver": "driver-a",
                        "pool": "p",
                        "device": "d1",
                        "conditions": [{"type": "broken", "status": "True"}],
                    }
                ]
            },
        },
        {
            "result": {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]},
            "allocation": {"allocationTimestamp": "2025-12-31T23:49:00Z"},
        },
    ],
    ids=["for another node", "needs a feature of the node", "failed to bind", "waited too long"],
)
def test_an_allocated_claim_that_cannot_be_used_on_the_node_keeps_the_pod_away(unusable: dict[str, Any]) -> None:
    allocation = unusable.get("allocation", {})
    devices = {"devices": {"results": [RESULT | unusable.get("result", {})]}}
    status = {"allocation": devices | allocation} | unusable.get("status", {})
    held = claim(status=status)
    assert said(attempt(pod("a"), held).filter) == (
        "UnschedulableAndUnresolvable",
        "resourceclaim not available on the node",
    )


def test_a_claim_that_waits_for_its_device_is_waited_for() -> None:
    result = RESULT | {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    devices = {"devices": {"results": [result]}, "allocationTimestamp": "2025-12-31T23:51:00Z"}
    assert said(attempt(pod("a"), claim(status={"allocation": devices})).filter) == ("Success",)
