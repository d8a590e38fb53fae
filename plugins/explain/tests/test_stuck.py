"""Kinds of stuck claims and pods: the true reason is named, through the command, over a folder of YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .cluster_folder import (
    DRIVER,
    Json,
    claim,
    device,
    device_class,
    explained,
    held,
    metadata,
    node,
    pod,
    request,
    slice_,
    template,
)

TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
RULE: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceTaintRule",
    "metadata": metadata("repair", None),
    "spec": {"deviceSelector": {"device": "d1"}, "taint": TAINT},
}
NIC = device_class("nic")
TWO = slice_(device("d1", attributes={"numa": {"int": 0}}), device("d2", attributes={"numa": {"int": 1}}))
COUNTERS = slice_(name="s0", count=2, sharedCounters=[{"name": "mem", "counters": {"total": {"value": "4Gi"}}}])


def consuming(name: str, amount: str) -> Json:
    return device(name, consumesCounters=[{"counterSet": "mem", "counters": {"total": {"value": amount}}}])


def cel(expression: str) -> list[Json]:
    return [{"cel": {"expression": expression}}]


SHARED = device("d1", allowMultipleAllocations=True, capacity={"bw": {"value": "10G"}})
SHARE: dict[str, Any] = {"shareID": "11111111-2222-4333-8444-555555555555", "consumedCapacity": {"bw": "8G"}}

STUCK = {
    "no class": (
        [node(), TWO, claim()],
        "stuck because request r: device class nic does not exist",
    ),
    "no class of an alternative": (
        [node(), NIC, TWO, claim("mine", {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gone"}]})],
        "stuck because request r/s: device class gone does not exist",
    ),
    "selector false everywhere": (
        [node(), NIC, TWO, claim("mine", request(selectors=cel(f'device.attributes["{DRIVER}"].numa == 7')))],
        'none of 2 fits: 2 request selector; nearest: d1: selector #0 of the request is false: device.attributes["',
    ),
    "CEL error": (
        [node(), device_class("nic", f'device.attributes["{DRIVER}"].nothing == 1'), TWO, claim()],
        f"class nic: selector #0 on device {DRIVER}/p/d1: CEL runtime error: no such key: nothing",
    ),
    "CEL that does not compile": (
        [node(), NIC, TWO, claim("mine", request(selectors=cel("device.driver ==")))],
        "the API server refuses it: spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value",
    ),
    "all held": (
        [
            node(),
            NIC,
            TWO,
            claim(),
            held("theirs", "d1", "d2", users=[{"resource": "pods", "name": "web", "uid": "u"}]),
        ],
        "none of 2 fits: 2 in use; nearest: d1: held by claim default/theirs (pods/web)",
    ),
    "taint of a rule": (
        [node(), NIC, slice_(device("d1")), RULE, claim()],
        "none of 1 fits: 1 taint; nearest: d1: taint broken=yes:NoSchedule of rule repair",
    ),
    "taint of the driver": (
        [node(), NIC, slice_(device("d1", taints=[TAINT])), claim()],
        "nearest: d1: taint broken=yes:NoSchedule of its driver",
    ),
    "incomplete pool": (
        [node(), NIC, slice_(device("d1"), count=3, gen=2), claim()],
        f"pool {DRIVER}/p is incomplete: there are 1 of 3 slices of generation 2",
    ),
    "invalid pool": (
        [node(), NIC, slice_(device("d1"), count=2), slice_(device("d1"), name="s2", count=2), claim()],
        f"pool {DRIVER}/p is invalid: duplicate device name d1",
    ),
    "obsolete pool": (
        [
            node(),
            NIC,
            slice_(device("d1"), count=2),
            slice_(device("d1"), name="s2", of="node-b", gen=2),
            node("node-b"),
            claim("mine", request(count=2)),
        ],
        f"pool {DRIVER}/p is obsolete here: this node's slices have generation 1, the pool is at 2",
    ),
    "counters exhausted": (
        [
            node(),
            NIC,
            COUNTERS,
            slice_(consuming("d1", "3Gi"), consuming("d2", "2Gi"), count=2),
            claim(),
            held("x", "d2"),
        ],
        "nearest: d1: counter total of mem: 3Gi needed, 2Gi left, devices in use by claim default/x",
    ),
    "capacity exhausted": (
        [
            node(),
            NIC,
            slice_(SHARED),
            held("x", "d1", **SHARE),
            claim("mine", request(capacity={"requests": {"bw": "4G"}})),
        ],
        "nearest: d1: capacity bw: 4G asked for, 2G of 10G free, shared by claim default/x",
    ),
    "constraint conflict": (
        [
            node(),
            NIC,
            TWO,
            claim("mine", request("a"), request("b"), constraints=[{"matchAttribute": f"{DRIVER}/numa"}]),
        ],
        f"no choice of devices for requests a and b satisfies constraint #0, matchAttribute {DRIVER}/numa "
        "(a has 0, 1; b has 0, 1)",
    ),
    "limit of 32": (
        [node(), NIC, TWO, claim("mine", request(count=33))],
        "claim default/mine, request r: adding 33 devices exceeds the claim limit of 32",
    ),
    "admin namespace": (
        [
            node(),
            NIC,
            TWO,
            claim("mine", request(adminAccess=True)),
            {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("default", None)},
        ],
        "the API server refuses it: spec.devices.requests[0].adminAccess: Forbidden",
    ),
}


@pytest.mark.parametrize("kind", STUCK)
def test_a_stuck_claim_names_the_true_reason(kind: str, tmp_path: Path) -> None:
    objects, reason = STUCK[kind]
    report, code = explained(tmp_path, "claim/mine", *objects)
    said = "\n".join([report["text"], *(each["text"] for each in report.get("nodes", ()))])
    assert reason in said
    assert (report["state"], code) == ("stuck", 3)


def test_a_pod_whose_claim_is_allocated_elsewhere_names_claim_and_nodes(tmp_path: Path) -> None:
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["west"]}]}]}
    theirs = held("theirs", "d1")
    theirs["status"]["allocation"]["nodeSelector"] = selector
    both = [{"name": "a", "resourceClaimName": "theirs"}, {"name": "b", "resourceClaimName": "mine"}]
    report, code = explained(tmp_path, "pod/web", node(zone="east"), NIC, TWO, theirs, claim(), pod("web", *both))
    assert code == 3
    assert "claim default/theirs is allocated already, for nodes with zone west only" in report["text"]


def test_a_pod_without_its_generated_claim_says_so_and_where_it_would_fit(tmp_path: Path) -> None:
    wanted = {"name": "a", "resourceClaimTemplateName": "nics"}
    report, code = explained(tmp_path, "pod/web", node(), NIC, TWO, template(), pod("web", wanted))
    assert code == 3
    assert report["text"] == (
        "stuck because ResourceClaim not created yet: the claim controller has made none for its claim a from template "
        "nics; once that is put right, it would fit on node node-a"
    )


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"name": "a", "resourceClaimTemplateName": "gone"}, "ResourceClaimTemplate default/gone does not exist"),
        ({"name": "a", "resourceClaimName": "gone"}, 'could not find ResourceClaim "default/gone"'),
    ],
    ids=["template", "claim"],
)
def test_a_pod_whose_claim_or_template_is_missing_says_so(wanted: Json, reason: str, tmp_path: Path) -> None:
    report, code = explained(tmp_path, "pod/web", node(), NIC, TWO, pod("web", wanted))
    assert code == 3
    assert reason in report["text"]


def test_a_pod_whose_claim_the_api_server_would_refuse_says_so(tmp_path: Path) -> None:
    wanted: list[Json] = [{"name": "a", "resourceClaimName": "mine"}]
    report, code = explained(
        tmp_path, "pod/web", node(), NIC, TWO, claim("mine", request(count=-3)), pod("web", *wanted)
    )
    assert code == 3
    assert report["text"].startswith(
        "stuck because claim default/mine: the API server refuses it: spec.devices.requests[0].exactly.count: Invalid"
    )


def test_everything_that_a_pod_lacks_is_told_at_once_in_the_order_of_its_claims(tmp_path: Path) -> None:
    wanted: list[Json] = [
        {"name": "a", "resourceClaimName": "gone"},
        {"name": "b", "resourceClaimTemplateName": "nics"},
        {"name": "c", "resourceClaimName": "classless"},
        {"name": "d", "resourceClaimTemplateName": "none"},
        {"name": "e", "resourceClaimName": "going"},
    ]
    classless = claim("classless", request("q", deviceClassName="x"), request("r", deviceClassName="y"))
    going = claim("going")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    report, code = explained(tmp_path, "pod/web", node(), NIC, TWO, template(), classless, going, pod("web", *wanted))
    assert code == 3
    assert report["text"] == (
        'stuck because could not find ResourceClaim "default/gone"; '
        "ResourceClaim not created yet: the claim controller has made none for its claim b from template nics; "
        "claim default/classless, request q: device class x does not exist; "
        "claim default/classless, request r: device class y does not exist; "
        "its claim d cannot be made: ResourceClaimTemplate default/none does not exist; "
        'resourceclaim "going" is being deleted'
    )


def test_a_pod_that_its_node_has_no_memory_for_says_so(tmp_path: Path) -> None:
    mapped = device(
        "d1",
        nodeAllocatableResources={"memory": {"mapping": {"deviceMultiplier": "8Gi"}}},
    )
    small = node() | {"status": {"allocatable": {"memory": "4Gi", "cpu": "4"}}}
    objects = [small, NIC, slice_(mapped), claim(), pod("web", {"name": "a", "resourceClaimName": "mine"})]
    report, code = explained(tmp_path, "pod/web", *objects, options=["--features", "DRANodeAllocatableResources=true"])
    assert (report["text"], code) == ("stuck on node node-a because Insufficient memory", 3)


def test_an_error_on_one_node_stops_the_claim_on_all(tmp_path: Path) -> None:
    good = slice_(device("d1", attributes={"x": {"int": 1}}), of="node-b", name="s2")
    needs_x = device_class("nic", f'device.attributes["{DRIVER}"].x == 1')
    report, code = explained(
        tmp_path, "claim/mine", node(), node("node-b"), needs_x, slice_(device("d1")), good, claim()
    )
    assert code == 3
    assert report["text"].startswith("stuck on every node because class nic: selector #0 on device")


def test_a_claim_is_not_named_once_more_where_it_is_the_subject(tmp_path: Path) -> None:
    reason = "request r: device class nic does not exist"
    using = pod("web", {"name": "a", "resourceClaimName": "mine"})
    of_claim, _ = explained(tmp_path, "claim/mine", node(), claim(), using)
    of_pod, _ = explained(tmp_path, "pod/web", node(), claim(), using)
    assert of_claim["text"] == f"stuck because {reason}"
    assert of_pod["text"] == f"stuck because claim default/mine, {reason}"


def test_nor_where_an_error_ends_the_attempt_on_every_node(tmp_path: Path) -> None:
    broken = claim("mine", request(selectors=[{"cel": {"expression": "device.attributes['x'].y == 3"}}]))
    report, _ = explained(tmp_path, "claim/mine", node(), NIC, TWO, broken)
    assert report["text"].startswith("stuck on every node because selector #0 on device ")
