"""Kinds of stuck claims on the real node, each with what puts it right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.cluster import build, files, objects
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.worlds import manifest

DRIVER = "stuck.example.com"
CLASS = "stuck"
GENERIC = "cannot allocate all claims"
"""All that the scheduler says where no device fits."""
_ZONE = f"{DRIVER}/zone"


def device(name: str, **more: object) -> Object:
    """Give a device."""
    return {"name": name, **more}


def numa(name: str, node: int, **more: object) -> Object:
    """Give a device of a NUMA node."""
    return device(name, attributes={"numa": {"int": node}}, **more)


def part(
    name: str, *devices: Object, count: int = 1, generation: int = 1, node: str = files.NODE, **more: object
) -> Object:
    """Give a slice of the one pool; ``count``: how many slices it says there are."""
    pool = {"name": "p", "generation": generation, "resourceSliceCount": count}
    spec: Object = {"driver": DRIVER, "nodeName": node, "pool": pool} | ({"devices": list(devices)} if devices else {})
    return manifest("ResourceSlice", {"metadata": {"name": f"stuck-{name}"}, "spec": spec | more})


def cel(expression: str) -> list[Object]:
    """Give a selector."""
    return [{"cel": {"expression": expression}}]


def request(name: str = "r", **more: Any) -> Object:
    """Ask for a device of the driver."""
    return objects.request(name, CLASS, **more)


THE_CLASS = manifest(
    "DeviceClass", {"metadata": {"name": CLASS}, "spec": {"selectors": cel(f'device.driver == "{DRIVER}"')}}
)
TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
RULE = manifest(
    "DeviceTaintRule", {"metadata": {"name": "repair"}, "spec": {"deviceSelector": {"driver": DRIVER}, "taint": TAINT}}
)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """``parts``: what the cluster has, with the class; ``before``: what happens between the claim and its pod.

    ``scheduler``: what the scheduler says; ``reason``: what is to be explained, ``{ns}`` being the namespace.
    ``cure``: what puts right that reason and no other; None where nothing can. ``since``: release that has it on.
    """

    parts: Sequence[Object]
    reason: str
    cure: Callable[[Case], object] | None
    scheduler: str = GENERIC
    requests: Sequence[Object] = field(default_factory=lambda: [request()])
    constraints: Sequence[Object] = ()
    before: Callable[[Case], object] | None = None
    since: int = 34

    @contextmanager
    def on_node(self, case: Case) -> Iterator[None]:
        """Have a pod ``waits`` for a claim of that name."""
        try:
            case.create(*self.parts)
            claim = objects.claim("waits", *self.requests)
            claim["spec"]["devices"]["constraints"] = list(self.constraints)
            case.create(claim)
            if self.before:
                self.before(case)
            case.create(objects.pod("waits", objects.of_claim("waits")))
            yield
        finally:
            case.delete("waits", "holder", grace=0)
            _zone(case, None)
            rules = ["DeviceTaintRule"] * (build.minor() >= 37)
            for kind in ("ResourceSlice", "DeviceClass", *rules):
                _remove(case, kind, [each["metadata"]["name"] for each in (*self.parts, THE_CLASS, *ADDED)])


def _remove(case: Case, kind: str, names: Sequence[str]) -> None:
    for each in case.api.list(kind):
        if each["metadata"]["name"] in names:
            case.api.delete(kind, each["metadata"]["name"])


def _devices(*devices: Object, of: str = "s") -> Callable[[Case], object]:
    """Publish other devices."""
    return lambda case: case.api.patch("ResourceSlice", f"stuck-{of}", {"spec": {"devices": list(devices)}})


def _held(**request_: Any) -> Callable[[Case], None]:
    """Grant another pod a request of its own."""

    def grant(case: Case) -> None:
        case.create(objects.claim("holder", request(**request_)))
        _run_holder(case, "holder")

    return grant


def _release(case: Case) -> None:
    """End who holds the device, and its claim."""
    case.delete("holder", grace=0)
    case.api.delete("ResourceClaim", "holder")


def _shared_in_the_west(case: Case) -> None:
    """Grant another pod the same claim for the nodes of a zone, which this node leaves then."""
    _zone(case, "west")
    _run_holder(case, "waits")
    _zone(case, None)
    # The scheduler hears of nodes and of pods by watches of their own, in no order.
    elsewhere = {"nodeSelectorTerms": [{"matchExpressions": [{"key": _ZONE, "operator": "DoesNotExist"}]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": elsewhere}
    case.create(objects.pod("probe", affinity={"nodeAffinity": required}))
    case.until(lambda: case.pod("probe")["spec"].get("nodeName"), "the scheduler knows that the node has left the zone")
    case.delete("probe")


def _run_holder(case: Case, claim: str) -> None:
    case.create(objects.pod("holder", objects.of_claim(claim)))
    case.until(lambda: case.pod("holder")["spec"].get("nodeName"), "the other pod has its device")


def _zone(case: Case, name: str | None) -> None:
    case.api.patch("Node", files.NODE, {"metadata": {"labels": {_ZONE: name}}})


ADDED = (part("late", device("d2"), count=2),)
_ATTRIBUTE = f'device.attributes["{DRIVER}"]'
_COUNTERS = part("c", count=2, sharedCounters=[{"name": "mem", "counters": {"total": {"value": "4Gi"}}}])
_SHARED = device("d1", allowMultipleAllocations=True, capacity={"bw": {"value": "10G"}})
_WEST = {"nodeSelectorTerms": [{"matchExpressions": [{"key": _ZONE, "operator": "In", "values": ["west"]}]}]}


def _partition(name: str, node: int, amount: str) -> Object:
    return numa(name, node, consumesCounters=[{"counterSet": "mem", "counters": {"total": {"value": amount}}}])


STUCK = {
    "there is no such class": Kind(
        parts=[part("s", device("d1"))],
        scheduler=f"device class {CLASS} does not exist",
        reason=f"device class {CLASS} does not exist",
        cure=lambda case: case.create(THE_CLASS),
    ),
    "a selector is false everywhere": Kind(
        parts=[THE_CLASS, part("s", numa("d1", 0), numa("d2", 1))],
        requests=[request(selectors=cel(f"{_ATTRIBUTE}.numa == 7"))],
        reason="2 request selector; nearest: d1: selector #0 of the request is false",
        cure=_devices(numa("d1", 0), numa("d2", 7)),
    ),
    "a selector fails": Kind(
        parts=[THE_CLASS, part("s", numa("d1", 0))],
        requests=[request(selectors=cel(f"{_ATTRIBUTE}.nothing == 1"))],
        scheduler="no such key: nothing",
        reason="no such key: nothing",
        cure=_devices(device("d1", attributes={"nothing": {"int": 1}})),
    ),
    "others hold all devices": Kind(
        parts=[THE_CLASS, part("s", device("d1"))],
        before=_held(),
        reason="d1: held by claim {ns}/holder (pods/holder)",
        cure=_release,
    ),
    "the driver has tainted the device": Kind(
        parts=[THE_CLASS, part("s", device("d1", taints=[TAINT]))],
        reason="d1: taint broken=yes:NoSchedule of its driver",
        cure=_devices(device("d1")),
        since=36,
    ),
    "a rule has tainted the device": Kind(
        parts=[RULE, THE_CLASS, part("s", device("d1"))],
        reason="d1: taint broken=yes:NoSchedule of rule repair",
        cure=lambda case: case.api.delete("DeviceTaintRule", "repair"),
        since=37,
    ),
    "the pool is incomplete": Kind(
        parts=[THE_CLASS, part("s", device("d1"), count=2)],
        reason=f"pool {DRIVER}/p is incomplete: there are 1 of 2 slices of generation 1",
        cure=lambda case: case.create(*ADDED),
        since=36,  # a scheduler before takes what such a pool has
    ),
    "the pool is invalid": Kind(
        parts=[THE_CLASS, part("s", device("d1"), count=2), part("t", device("d1"), count=2)],
        reason=f"pool {DRIVER}/p is invalid: duplicate device name d1",
        scheduler="invalid",
        cure=_devices(device("d2"), of="t"),
    ),
    "the pool has moved on": Kind(
        parts=[
            THE_CLASS,
            part("s", device("d1"), count=2),
            part("t", device("d2"), count=2, generation=2, node="elsewhere"),
        ],
        reason=f"pool {DRIVER}/p is obsolete here: this node's slices have generation 1, the pool is at 2",
        cure=lambda case: case.api.patch("ResourceSlice", "stuck-s", {"spec": {"pool": {"generation": 2}}}),
        since=36,  # a scheduler before takes what such a pool has
    ),
    "counters are used up": Kind(
        parts=[THE_CLASS, _COUNTERS, part("s", _partition("d1", 0, "3Gi"), _partition("d2", 1, "2Gi"), count=2)],
        before=_held(selectors=cel(f"{_ATTRIBUTE}.numa == 1")),
        reason="d1: counter total of mem: 3Gi needed, 2Gi left, devices in use by claim {ns}/holder",
        cure=_release,
        since=36,
    ),
    "capacity is used up": Kind(
        parts=[THE_CLASS, part("s", _SHARED)],
        requests=[request(capacity={"requests": {"bw": "4G"}})],
        before=_held(capacity={"requests": {"bw": "8G"}}),
        reason="d1: capacity bw: 4G asked for, 2G of 10G free, shared by claim {ns}/holder",
        cure=_release,
        since=36,
    ),
    "a constraint cannot be met": Kind(
        parts=[THE_CLASS, part("s", numa("d1", 0), numa("d2", 1))],
        requests=[request("a"), request("b")],
        constraints=[{"requests": ["a", "b"], "matchAttribute": f"{DRIVER}/numa"}],
        reason=f"no choice of devices for requests a and b satisfies constraint #0, matchAttribute {DRIVER}/numa",
        cure=_devices(numa("d1", 0), numa("d2", 0)),
    ),
    "the claim asks for more than 32": Kind(
        parts=[THE_CLASS, part("s", *(device(f"d{i}") for i in range(40)))],
        requests=[request("a", count=20), request("b", count=20)],
        scheduler="exceeds the claim limit of 32",
        reason="exceeds the claim limit of 32",
        cure=None,
    ),
    "the claim is allocated for other nodes": Kind(
        parts=[THE_CLASS, part("s", device("d1"), nodeName=None, nodeSelector=_WEST)],
        before=_shared_in_the_west,
        scheduler="resourceclaim not available on the node",
        reason=f"claim {{ns}}/waits is allocated already, for nodes with {_ZONE} west only",
        cure=lambda case: _zone(case, "west"),
    ),
}
