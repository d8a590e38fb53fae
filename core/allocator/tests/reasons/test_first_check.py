"""The first finding of a device is what the search itself turns it down for."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_allocator.allocation import Check, DeviceId

from ..allocation.clusters import (  # noqa: TID252 - tests have no package of their own
    Cluster,
    Json,
    claim,
    consumes,
    counter_set,
    every,
    has,
    held,
    match,
    req,
    shared,
    slice_,
)
from .explained import explained

TAINT = {"key": "hot", "effect": "NoSchedule"}


@st.composite
def devices(draw: st.DrawFn, name: str) -> Json:
    body: Json = {"name": name, "attributes": {"x": {"int": draw(st.integers(0, 1))}}}
    if draw(st.booleans()):
        body |= {"capacity": {"bw": {"value": draw(st.sampled_from(["1", "5"]))}}}
        body |= {"allowMultipleAllocations": draw(st.booleans())}
    if draw(st.booleans()):
        body["consumesCounters"] = [consumes("mem", total=draw(st.sampled_from(["1", "3"])))]
    if draw(st.booleans()):
        body["attributes"]["numa"] = {"int": draw(st.integers(0, 1))}
    if draw(st.integers(0, 3)) == 0:
        body["taints"] = [TAINT]
    return body


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    names = [f"d{number}" for number in range(draw(st.integers(1, 4)))]
    made = [draw(devices(name)) for name in names]
    allocated = []
    for each in made:
        if draw(st.integers(0, 2)):
            continue
        if each.get("allowMultipleAllocations"):
            allocated.append(shared(f"p1/{each['name']}", {"bw": "1"}))
        else:
            allocated.append(held(f"p1/{each['name']}"))
    counters = slice_("s0", count=2, sharedCounters=[counter_set("mem", total="3")])
    return Cluster([counters, slice_("s1", *made, count=2)], allocated)


@st.composite
def claims(draw: st.DrawFn) -> Json:
    rest: dict[str, Any] = {}
    if draw(st.booleans()):
        rest["selectors"] = has("x", "== 1")
    if draw(st.booleans()):
        rest["capacity"] = {"bw": "2"}
    if draw(st.booleans()):
        rest["tolerations"] = [{"operator": "Exists"}]
    # More than there are: so the search looks at every device before it gives up.
    asked = every("r", **rest) if draw(st.booleans()) else req("r", 5, **rest)
    return claim(asked, constraints=[match("driver-a/numa")] if draw(st.booleans()) else [])


@settings(derandomize=True, max_examples=150, deadline=None)
@given(clusters(), claims())
def test_the_first_finding_is_the_check_that_the_search_stops_at(cluster: Cluster, asked: Json) -> None:
    seen: dict[DeviceId, Check] = {}

    def observe(claim: int, request: str, device: DeviceId, check: Check) -> None:
        seen.setdefault(device, check)

    reasons = explained(cluster, asked)
    if reasons.error is None and reasons.results is None:
        cluster.outcome(asked, observer=observe)
        (told_of,) = reasons.requests
        told = {each.device: each.findings[0].check for each in told_of.devices if each.findings}
        # Devices that fit alone are turned down for those chosen before them; a search for all ends at the first.
        for device, check in seen.items():
            assert told.get(device, check) is check
        if told_of.wanted is not None:
            assert told.keys() <= seen.keys()
