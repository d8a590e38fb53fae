"""What every device fails, with the claim, rule, amount or expression that stands in the way."""

from __future__ import annotations

import pytest

from dragoman_allocator.allocation import Check

from ..allocation.clusters import (  # noqa: TID252 - tests have no package of their own
    Cluster,
    Json,
    claim,
    consumes,
    counter_set,
    device,
    every,
    gates,
    has,
    held,
    match,
    req,
    shareable,
    shared,
    slice_,
)
from .explained import explained, texts

RULE: Json = {
    "metadata": {"name": "repair"},
    "spec": {"deviceSelector": {"device": "d1"}, "taint": {"key": "broken", "value": "yes", "effect": "NoSchedule"}},
}
OWN_TAINT: Json = {"key": "hot", "effect": "NoExecute"}
COUNTED = (
    slice_("s0", count=2, sharedCounters=[counter_set("mem", total="4Gi")]),
    slice_(
        "s1",
        device("d1", consumesCounters=[consumes("mem", total="3Gi")]),
        device("d2", consumesCounters=[consumes("mem", total="2Gi")]),
        count=2,
    ),
)


@pytest.mark.parametrize(
    ("cluster", "asked", "check", "text"),
    [
        (Cluster([slice_("s", "d1")], [held("p1/d1")]), req("r"), Check.IN_USE, "held by claim ns/held"),
        (
            Cluster([slice_("s", "d1")]),
            req("r", cls="b"),
            Check.CLASS_SELECTOR,
            'selector #0 of class b is false: device.driver == "driver-b"',
        ),
        (
            Cluster([slice_("s", device("d1", attrs={"x": 1}))]),
            req("r", selectors=has("x", "== 2")),
            Check.REQUEST_SELECTOR,
            'selector #0 of the request is false: device.attributes["driver-a"].x == 2',
        ),
        (
            Cluster([slice_("s", "d1")], rules=[RULE]),
            req("r"),
            Check.TAINT,
            "taint broken=yes:NoSchedule of rule repair",
        ),
        (
            Cluster([slice_("s", device("d1", taints=[OWN_TAINT]))]),
            req("r"),
            Check.TAINT,
            "taint hot=:NoExecute of its driver",
        ),
        (
            Cluster([slice_("s", shareable("d1", {"bw": "10G"}))], [shared("p1/d1", {"bw": "7G"})]),
            req("r", capacity={"bw": "4G"}),
            Check.CAPACITY_USED,
            "capacity bw: 4G asked for, 3G of 10G free, shared by claim ns/held",
        ),
        (
            Cluster([slice_("s", "d1")]),
            req("r", capacity={"bw": "4G"}),
            Check.CAPACITY_UNFIT,
            "has no capacity bw",
        ),
        (
            Cluster(COUNTED, [held("p1/d2")]),
            req("r", selectors=[{"cel": {"expression": "true"}}]),
            Check.COUNTERS,
            "counter total of mem: 3Gi needed, 2Gi left, devices in use by claim ns/held",
        ),
        (
            Cluster(
                [slice_("s", device("d1", bindingConditions=["ready"], bindingFailureConditions=["no"]))],
                features=gates(DRADeviceBindingConditions=False),
            ),
            req("r"),
            Check.BINDING_CONDITIONS,
            "has binding conditions, which are off in this cluster",
        ),
        (
            Cluster(
                [
                    slice_(
                        "s",
                        device("d1", nodeName="n2"),
                        device("d9", nodeName="n1", taints=[OWN_TAINT]),
                        node=None,
                        perDeviceNodeSelection=True,
                    )
                ]
            ),
            req("r"),
            Check.NODE,
            "is for other nodes",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Check) else "",
)
def test_a_device_names_what_stands_in_its_way(cluster: Cluster, asked: Json, check: Check, text: str) -> None:
    (request,) = explained(cluster, claim(asked)).requests
    (findings,) = [each.findings for each in request.devices if each.device[2] == "d1"]
    assert [(finding.check, finding.text) for finding in findings] == [(check, text)]


def test_a_constraint_that_compares_what_a_device_lacks_is_told() -> None:
    cluster = Cluster([slice_("s", "d1")])
    (request,) = explained(cluster, claim(req("r"), constraints=[match("driver-a/numa")])).requests
    assert texts(request) == {"d1": ["lacks attribute driver-a/numa, which a constraint compares"]}


def test_all_failed_checks_of_a_device_are_told_in_the_schedulers_order() -> None:
    cluster = Cluster([slice_("s", device("d1", attrs={"x": 1}, taints=[OWN_TAINT]))], [held("p1/d1")])
    (request,) = explained(cluster, claim(req("r", selectors=has("x", "== 2")))).requests
    (only,) = request.devices
    assert [finding.check for finding in only.findings] == [Check.IN_USE, Check.REQUEST_SELECTOR, Check.TAINT]
    assert request.tally == {Check.IN_USE: 1}


def test_near_misses_come_first() -> None:
    devices = [
        device("d1", attrs={"x": 1}, taints=[OWN_TAINT]),
        device("d2", attrs={"x": 1}),
        device("d3", attrs={"x": 2}),
    ]
    cluster = Cluster([slice_("s", *devices)], [held("p1/d3")])
    (request,) = explained(cluster, claim(req("r", selectors=has("x", "== 2")))).requests
    assert [each.device[2] for each in request.devices] == ["d3", "d2", "d1"]


def test_findings_name_holders_rules_and_amounts_as_data() -> None:
    cluster = Cluster([slice_("s", "d1")], [held("p1/d1")], rules=[RULE])
    (request,) = explained(cluster, claim(req("r"))).requests
    data = [finding.data for finding in request.devices[0].findings]
    assert data == [
        {"holders": [{"claim": "ns/held", "request": "r", "reservedFor": []}]},
        {"taint": {"key": "broken", "value": "yes", "effect": "NoSchedule"}, "rule": "repair"},
    ]


def test_a_request_for_all_counts_only_devices_that_it_wants_and_cannot_have() -> None:
    cluster = Cluster(
        [slice_("s", device("d1", attrs={"x": 1}), device("d2", attrs={"x": 2}))], [held("p1/d1", "p1/d2")]
    )
    (request,) = explained(cluster, claim(every("r", selectors=has("x", "== 2")))).requests
    assert (request.wanted, request.missing) == (None, 1)
    assert request.tally == {Check.REQUEST_SELECTOR: 1, Check.IN_USE: 1}


def test_every_request_is_looked_at_though_the_search_ends_at_the_first() -> None:
    cluster = Cluster([slice_("s", "d1")], [held("p1/d1")])
    first, second = explained(cluster, claim(req("r1"), req("r2", cls="b"))).requests
    assert (list(first.tally), list(second.tally)) == ([Check.IN_USE], [Check.IN_USE])
    assert [finding.check for finding in second.devices[0].findings] == [Check.IN_USE, Check.CLASS_SELECTOR]
