"""Configuration and node selector of a result (api-semantics 7.10)."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.decode import to_json
from dragoman_allocator.errors import AllocationFailed
from dragoman_allocator.features import Features

from .clusters import Cluster, Json, cel, claim, device, every, first, req, slice_, sub

OLD = Features(Features().gates, rules="1.36")
TWO = [slice_("s1", "d1", "d2", "d3")]


def opaque(text: str) -> Json:
    """The body of a config entry."""
    return {"opaque": {"driver": "driver-a", "parameters": {"say": text}}}


def config(text: str, *requests: str) -> Json:
    """An entry of a claim."""
    return {**opaque(text), "requests": list(requests)} if requests else opaque(text)


CLASSES: list[Json] = [
    {"metadata": {"name": "a"}, "spec": {"config": [opaque("class-a")]}},
    {"metadata": {"name": "b"}, "spec": {"config": [opaque("class-b")]}},
    {"metadata": {"name": "plain"}, "spec": {}},
]


def entries(asked: Json, features: Features) -> list[tuple[str, str, Any]]:
    """Give source, text and requests of all entries."""
    results = Cluster(TWO, classes=CLASSES, features=features).outcome(asked).results
    assert results is not None
    found = results[0].devices.config or []
    return [(e.source, e.opaque.parameters["say"], e.requests) for e in found if e.opaque is not None]


def plain(name: str) -> Json:
    """A request of a class without config."""
    return req(name, cls="plain")


CHOICE = first("r0", sub("s0", 9, cls="plain"), sub("s1", cls="plain"))
FIRST = first("r0", sub("s0", cls="plain"), sub("s1", cls="plain"))

CONFIGS: dict[str, tuple[Json, Any, Any]] = {
    "one request of a class": (claim(req("r0")), [("FromClass", "class-a", None)], [("FromClass", "class-a", ["r0"])]),
    "two classes": (
        claim(req("r0"), req("r1"), req("r2", cls="b")),
        [("FromClass", "class-a", ["r0", "r1"]), ("FromClass", "class-b", ["r2"])],
        [("FromClass", "class-a", ["r0", "r1"]), ("FromClass", "class-b", ["r2"])],
    ),
    "only the chosen subrequest": (
        claim(CHOICE, config=[config("foo", "r0/s0"), config("bar", "r0/s1")]),
        [("FromClaim", "bar", None)],
        [("FromClaim", "bar", ["r0/s1"])],
    ),
    "kept verbatim": (
        claim(FIRST, plain("r1"), config=[config("foo", "r0/s0", "r0/s1")]),
        [("FromClaim", "foo", ["r0/s0", "r0/s1"])],
        [("FromClaim", "foo", ["r0/s0", "r0/s1"])],
    ),
    "every request named": (
        claim(FIRST, plain("r1"), config=[config("foo", "r0/s0", "r1")]),
        [("FromClaim", "foo", None)],
        [("FromClaim", "foo", ["r0/s0", "r1"])] * 2,
    ),
    "two of three requests": (
        claim(plain("r0"), plain("r1"), plain("r2"), config=[config("foo", "r0", "r1")]),
        [("FromClaim", "foo", ["r0", "r1"])],
        [("FromClaim", "foo", ["r0", "r1"])] * 2,
    ),
    "for all requests": (
        claim(plain("r0"), config=[config("foo")]),
        [("FromClaim", "foo", None)],
        [("FromClaim", "foo", None)],
    ),
    "of the class before that of the claim": (
        claim(req("r0"), plain("r1"), config=[config("foo", "r0")]),
        [("FromClass", "class-a", ["r0"]), ("FromClaim", "foo", ["r0"])],
        [("FromClass", "class-a", ["r0"]), ("FromClaim", "foo", ["r0"])],
    ),
}


@pytest.mark.parametrize(("asked", "now", "before"), CONFIGS.values(), ids=list(CONFIGS))
def test_configuration(asked: Json, now: Any, before: Any) -> None:
    assert entries(asked, Features()) == now
    assert entries(asked, OLD) == before


def selects(*requirements: tuple[str, list[str]]) -> Json:
    """A node selector of one term."""
    expressions = [{"key": key, "operator": "In", "values": values} for key, values in requirements]
    return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}


EAST = selects(("region", ["east"]))
ONLY_N1 = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}


def everywhere(name: str, *devices: Json | str, **spec: Any) -> Json:
    """A slice of a pool of its own that is not for one node."""
    return slice_(name, *devices, pool=name, node=None, **spec)


PER_DEVICE = everywhere(
    "s1",
    device("d1", nodeName="n2"),
    device("d2", nodeName="n1"),
    device("d3", allNodes=True),
    perDeviceNodeSelection=True,
)

SELECTORS: dict[str, tuple[list[Json], int, Any]] = {
    "one device is local": (
        [
            everywhere("s1", "d1", nodeSelector=EAST),
            slice_("s2", "d2", pool="p2"),
            everywhere("s3", "d3", allNodes=True),
        ],
        3,
        ONLY_N1,
    ),
    "a device of a region": ([everywhere("s1", device("d1", nodeSelector=EAST), perDeviceNodeSelection=True)], 1, EAST),
    "the same requirement twice, and another": (
        [
            everywhere("s1", "d1", nodeSelector=selects(("region", ["east", "west"]))),
            everywhere("s2", "d2", nodeSelector=selects(("region", ["west", "east"]), ("zone", ["z1"]))),
        ],
        2,
        selects(("region", ["east", "west"]), ("zone", ["z1"])),
    ),
    "a device that binds to the node": (
        [everywhere("s1", device("d1", bindsToNode=True), nodeSelector=EAST)],
        1,
        ONLY_N1,
    ),
    "devices for all nodes": ([everywhere("s1", "d1", allNodes=True)], 1, None),
}


@pytest.mark.parametrize(("slices", "count", "selector"), SELECTORS.values(), ids=list(SELECTORS))
def test_node_selector(slices: list[Json], count: int, selector: Any) -> None:
    results = Cluster(slices).outcome(claim(req("r0", count))).results
    assert results is not None
    assert to_json(results[0]).get("nodeSelector") == selector


def test_devices_with_a_node_of_their_own() -> None:
    cluster = Cluster([PER_DEVICE])
    results = cluster.outcome(claim(every("r0"))).results
    assert results is not None
    assert [r.device for r in results[0].devices.results or ()] == ["d2", "d3"]
    assert to_json(results[0])["nodeSelector"] == ONLY_N1


def test_selectors_see_devices_of_other_nodes_before_their_scope_does() -> None:
    mixed = everywhere(
        "s1",
        device("d1", nodeName="n2"),
        device("d2", nodeName="n1", attrs={"x": True}),
        perDeviceNodeSelection=True,
    )
    with pytest.raises(AllocationFailed, match="driver-a/s1/d1: CEL runtime error: no such key: x"):
        Cluster([mixed]).outcome(claim(req("r0", selectors=cel('device.attributes["driver-a"].x'))))


def test_a_device_with_two_terms_cannot_be_recorded() -> None:
    two = {"nodeSelectorTerms": EAST["nodeSelectorTerms"] * 2}
    cluster = Cluster([everywhere("s1", device("d1", nodeSelector=two), perDeviceNodeSelection=True)])
    with pytest.raises(AllocationFailed) as raised:
        cluster.outcome(claim(req("r0")))
    assert str(raised.value) == "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms"


def test_binding_conditions_are_copied() -> None:
    bound = device("d1", bindingConditions=["ready"], bindingFailureConditions=["failed"])
    result = Cluster([slice_("s1", bound)]).result(claim(req("r0")))
    assert (result.binding_conditions, result.binding_failure_conditions) == (["ready"], ["failed"])


@pytest.mark.parametrize("gate", ["DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"])
def test_devices_with_binding_conditions_are_passed_over_without_the_gates(gate: str) -> None:
    bound = device("d1", bindingConditions=["ready"], bindingFailureConditions=["failed"])
    assert Cluster([slice_("s1", bound, "d2")], features=Features.of({gate: False})).found(claim(req("r0"))) == "r0 d2"
