"""Small clusters for tests: builders of API objects as plain JSON, and what the allocator makes of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman_allocator.allocation import Allocator, Observer, Outcome
from dragoman_allocator.decode import decode
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceClass, DeviceResult, DeviceTaintRule, Node, ResourceClaim, ResourceSlice

Json = dict[str, Any]

DRIVER = "driver-a"
N1: Json = {"metadata": {"name": "n1", "labels": {"region": "east", "zone": "z1"}}}


def attributes(**values: Any) -> Json:
    """Attributes of a device: bool, int and text by their Python type, texts such as ``v1.2.3`` as versions."""
    return {name: _attribute(value) for name, value in values.items()}


def _attribute(value: Any) -> Json:
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    if isinstance(value, list):
        return {"strings": value}
    return {"version": value[1:]} if value[:2] in {"v0", "v1", "v2", "v3"} else {"string": value}


def device(
    name: str, *, capacity: Mapping[str, Any] | None = None, attrs: Mapping[str, Any] | None = None, **rest: Any
) -> Json:
    """A device; capacities may be amounts."""
    built: Json = {"name": name, **rest}
    if capacity is not None:
        built["capacity"] = {k: v if isinstance(v, dict) else {"value": v} for k, v in capacity.items()}
    if attrs is not None:
        built["attributes"] = (
            attributes(**attrs)
            if all(k.isidentifier() for k in attrs)
            else {k: _attribute(v) for k, v in attrs.items()}
        )
    return built


def shareable(name: str, capacity: Mapping[str, Any] | None = None, **rest: Any) -> Json:
    """A device that several claims may share."""
    return device(name, capacity=capacity, allowMultipleAllocations=True, **rest)


def consumes(counter_set: str, groups: Sequence[str] | None = None, **counters: Any) -> Json:
    """An entry of ``consumesCounters``."""
    entry: Json = {"counterSet": counter_set, "counters": {k: {"value": v} for k, v in counters.items()}}
    return entry if groups is None else {**entry, "compatibilityGroups": list(groups)}


def counter_set(name: str, **counters: Any) -> Json:
    """An entry of ``sharedCounters``."""
    return {"name": name, "counters": {k: {"value": v} for k, v in counters.items()}}


def slice_(
    name: str,
    *devices: Json | str,
    pool: str = "p1",
    driver: str = DRIVER,
    node: str | None = "n1",
    gen: int = 1,
    count: int = 1,
    **spec: Any,
) -> Json:
    """A slice for a node, or with ``node=None`` for the scope among the members given."""
    body: Json = {"driver": driver, "pool": {"name": pool, "generation": gen, "resourceSliceCount": count}, **spec}
    if node is not None:
        body["nodeName"] = node
    if devices:
        body["devices"] = [device(d) if isinstance(d, str) else d for d in devices]
    return {"metadata": {"name": name}, "spec": body}


def cel(*expressions: str) -> list[Json]:
    """Selectors."""
    return [{"cel": {"expression": expression}} for expression in expressions]


def has(name: str, test: str, driver: str = DRIVER) -> list[Json]:
    """A selector on an attribute of the driver, such as ``has("x", "== 1")``."""
    return cel(f'device.attributes["{driver}"].{name} {test}')


def mem(amount: str) -> list[Json]:
    """A selector for devices with at least this much ``mem``."""
    return cel(f'device.capacity["{DRIVER}"].mem.compareTo(quantity("{amount}")) >= 0')


def sub(name: str, count: int = 1, *, cls: str = "a", capacity: Mapping[str, Any] | None = None, **rest: Any) -> Json:
    """A subrequest."""
    body: Json = {"name": name, "deviceClassName": cls, **rest}
    if body.get("allocationMode") != "All":
        body["count"] = count
    if capacity is not None:
        body["capacity"] = {"requests": dict(capacity)}
    return body


def req(name: str, count: int = 1, **rest: Any) -> Json:
    """A request for devices of class ``a``."""
    exactly = sub(name, count, **rest)
    return {"name": exactly.pop("name"), "exactly": exactly}


def every(name: str, **rest: Any) -> Json:
    """A request for all devices."""
    return req(name, allocationMode="All", **rest)


def first(name: str, *subrequests: Json) -> Json:
    """A request with subrequests by preference."""
    return {"name": name, "firstAvailable": list(subrequests)}


def match(attribute: str, *requests: str) -> Json:
    """A matchAttribute constraint."""
    return {"matchAttribute": attribute, **({"requests": list(requests)} if requests else {})}


def distinct(attribute: str, *requests: str) -> Json:
    """A distinctAttribute constraint."""
    return {"distinctAttribute": attribute, **({"requests": list(requests)} if requests else {})}


def claim(*requests: Json, name: str = "c", constraints: Sequence[Json] = (), config: Sequence[Json] = ()) -> Json:
    """A claim in namespace ``ns``."""
    devices = {"requests": list(requests), "constraints": list(constraints), "config": list(config)}
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"devices": {k: v for k, v in devices.items() if v}}}


def held(*devices: str, **result: Any) -> Json:
    """A claim that holds devices given as ``pool/device`` (or ``driver/pool/device``)."""
    results = []
    for path in devices:
        driver, pool, name = ([DRIVER, *path.split("/")])[-3:]
        results.append({"request": "r", "driver": driver, "pool": pool, "device": name, **result})
    body = claim(req("r"), name="held")
    return {**body, "status": {"allocation": {"devices": {"results": results}}}}


def shared(device_path: str, consumed: Mapping[str, Any] | None = None) -> Json:
    """A claim that holds a share of a device."""
    extra = {} if consumed is None else {"consumedCapacity": dict(consumed)}
    return held(device_path, shareID="11111111-2222-4333-8444-555555555555", **extra)


CLASSES: list[Json] = [
    {"metadata": {"name": "a"}, "spec": {"selectors": cel('device.driver == "driver-a"')}},
    {"metadata": {"name": "b"}, "spec": {"selectors": cel('device.driver == "driver-b"')}},
    {"metadata": {"name": "any"}, "spec": {}},
]


@dataclass
class Cluster:
    """What the scheduler sees."""

    slices: Sequence[Json]
    allocated: Sequence[Json] = ()
    rules: Sequence[Json] = ()
    classes: Sequence[Json] = field(default_factory=lambda: CLASSES)
    features: Features = field(default_factory=Features)

    def allocator(self) -> Allocator:
        """Give an allocator whose share IDs are counted."""
        numbers = itertools.count(1)
        return Allocator(
            [decode(ResourceSlice, one) for one in self.slices],
            [decode(DeviceClass, one) for one in self.classes],
            [decode(DeviceTaintRule, one) for one in self.rules],
            [decode(ResourceClaim, one) for one in self.allocated],
            self.features,
            share_ids=lambda: f"share-{next(numbers)}",
        )

    def outcome(self, *claims: Json, node: Json = N1, observer: Observer | None = None) -> Outcome:
        """Allocate the claims together."""
        return self.allocator().allocate([decode(ResourceClaim, one) for one in claims], decode(Node, node), observer)

    def placed(self, *claims: Json, node: Json = N1) -> list[list[str]] | None:
        """Give per claim what was found, as ``request device``; None where the claims do not fit."""
        results = self.outcome(*claims, node=node).results
        if results is None:
            return None
        return [[f"{r.request} {r.device}" for r in result.devices.results or ()] for result in results]

    def result(self, asked: Json, *, node: Json = N1) -> DeviceResult:
        """Give the one device found for a claim."""
        outcome = self.outcome(asked, node=node)
        assert outcome.results is not None
        devices = outcome.results[0].devices.results or []
        assert len(devices) == 1
        return devices[0]

    def found(self, *claims: Json, node: Json = N1) -> str | None:
        """Give ``placed`` as one text: devices by commas, claims by bars; None where the claims do not fit."""
        placed = self.placed(*claims, node=node)
        return None if placed is None else " | ".join(", ".join(one) for one in placed)


def gates(**on: bool) -> Features:
    """Give the default gates with some changed."""
    return Features.of(on)
