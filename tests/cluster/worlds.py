"""Random devices and claims on the real node: put there, asked of the scheduler, and taken away again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from dragoman_allocator.accounting import Claims, Cluster, Code
from dragoman_allocator.allocation import Allocator
from dragoman_allocator.decode import decode, to_json
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceClass, DeviceTaintRule, Node, Pod, ResourceClaim, ResourceSlice
from dragoman_allocator.quantity import parse
from tests.cluster import build, files, objects
from tests.cluster.api import Api, ApiError, Object
from tests.cluster.case import Case
from tests.differential.worlds import allocate, gates, requests
from tests.differential.worlds.devices import NODE
from tests.differential.worlds.dice import Dice
from tests.differential.worlds.pools import LABELS
from tests.differential.worlds.requests import Wish

_DRA = "resource.k8s.io/v1"
_SENTINEL = "sentinel"

UNPROCESSABLE = 422
"""The HTTP status for an object that is not valid."""
FATAL = "fatal"
"""The answer where the whole attempt fails; None where the claim does not fit the node."""


class Scene:
    """Slices and classes of random drivers, and as many claims as wanted."""

    def __init__(self, case: Case, name: str) -> None:
        self._case = case
        self._dice = Dice(name)
        chosen = gates.release("1.37")
        world = json.loads(
            json.dumps(allocate.scene(self._dice, allocate.SIZES["mixed"], chosen)).replace(
                f'"{NODE}"', f'"{files.NODE}"'
            )
        )
        self._slices = [manifest("ResourceSlice", each) for each in world["slices"]]
        self._classes = [manifest("DeviceClass", each) for each in world["classes"]]
        size = allocate.SIZES["mixed"]
        self._wish = Wish(allocate.DRIVERS, chosen.on, size.odd, size.count, size.requests, size.picky)

    @contextmanager
    def on_node(self) -> Iterator[None]:
        """Keep the slices and classes in the API server; the scheduler has seen them all."""
        api = self._case.api
        api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": files.NODE, "labels": dict(LABELS)}})
        made: list[Object] = []
        try:
            made += (each for each in (*self._classes, *self._slices) if taken(api, each))
            made += self._sentinel()
            yield
        finally:
            for each in made:
                api.delete(each["kind"], each["metadata"]["name"])

    def claims(self, count: int) -> Iterator[Object]:
        """Make claims that the API server takes, one after the other."""
        made = 0
        while made < count:
            body = manifest("ResourceClaim", requests.claim(self._dice, self._wish, f"c{made}"))
            _tolerate_for_ever(body["spec"])
            if taken(self._case.api, body):
                made += 1
                yield self._case.claim(body["metadata"]["name"])

    def _sentinel(self) -> list[Object]:
        """Make a slice and a class that come last, and wait until the scheduler has used them."""
        case = self._case
        selectors = [{"cel": {"expression": f'device.driver == "{_SENTINEL}"'}}]
        device_class = manifest("DeviceClass", {"metadata": {"name": _SENTINEL}, "spec": {"selectors": selectors}})
        pool = {"name": _SENTINEL, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": _SENTINEL, "nodeName": files.NODE, "pool": pool, "devices": [{"name": "d"}]}
        part = manifest("ResourceSlice", {"metadata": {"name": _SENTINEL}, "spec": spec})
        case.create(device_class, part, objects.claim(_SENTINEL, objects.request("r", _SENTINEL)))
        case.create(objects.pod(_SENTINEL, objects.of_claim(_SENTINEL)))
        case.until(lambda: _allocation(case.claim(_SENTINEL)), "the scheduler has seen all slices")
        return [device_class, part]


def chosen_by_scheduler(case: Case, claim: Object) -> Object | str | None:
    """Have a pod use the claim, and give the allocation, ``FATAL`` or None; then both are gone, lest it tries again."""
    name = claim["metadata"]["name"]
    pod = f"of-{name}"
    case.create(objects.pod(pod, objects.of_claim(name)))
    case.until(lambda: _allocation(case.claim(name)) or _refusal(case.pod(pod)), f"claim {name} is decided")
    found = _allocation(case.claim(name))
    if found:
        return normal(found)
    refusal = _refusal(case.pod(pod))
    case.delete(pod, grace=0)
    case.api.delete("ResourceClaim", name)
    return FATAL if refusal == "SchedulerError" else None


def chosen_by_library(case: Case, claim: Object) -> Object | str | None:
    """Ask the library the same, with what the API server holds now."""
    api = case.api
    rules = api.list("DeviceTaintRule") if build.minor() >= 37 else []
    claims = [decode(ResourceClaim, each) for each in api.list("ResourceClaim", everywhere=True)]
    classes = [decode(DeviceClass, each) for each in api.list("DeviceClass")]
    slices = [decode(ResourceSlice, each) for each in api.list("ResourceSlice")]
    features = Features.of_release(f"1.{build.minor()}")
    cluster = Cluster(
        claims=Claims(claims),
        classes=classes,
        slices=slices,
        allocator=Allocator(slices, classes, [decode(DeviceTaintRule, each) for each in rules], claims, features),
        features=features,
        now=datetime.now(UTC),
    )
    name = claim["metadata"]["name"]
    pod = objects.pod("asked", objects.of_claim(name))
    pod["metadata"]["namespace"] = case.namespace
    attempt = cluster.try_pod(decode(Pod, pod), decode(Node, api.get("Node", files.NODE) or {}))
    if Code.ERROR in {step.code for step in (attempt.pre_filter, attempt.filter) if step}:
        return FATAL
    taken = attempt.allocations.get(claim["metadata"]["uid"])
    return None if taken is None else normal(to_json(taken))


def normal(allocation: Object) -> Object:
    """Give an allocation in the form in which two are compared: amounts as numbers, share ids by their presence."""
    devices = allocation.get("devices") or {}
    return {
        "results": [_result(each) for each in devices.get("results") or ()],
        "config": devices.get("config") or [],
        "nodeSelector": allocation.get("nodeSelector"),
    }


def _result(result: Object) -> Object:
    amounts = result.get("consumedCapacity") or {}
    return result | {
        "shareID": bool(result.get("shareID")),
        "consumedCapacity": {name: parse(amount) for name, amount in amounts.items()},
    }


def _allocation(claim: Object) -> Object | None:
    allocation: Object | None = claim.get("status", {}).get("allocation")
    return allocation


def _refusal(pod: Object) -> str:
    conditions: Sequence[Object] = pod["status"].get("conditions", ())
    return next((str(each["reason"]) for each in conditions if each["type"] == "PodScheduled" and "reason" in each), "")


def _tolerate_for_ever(part: object) -> None:
    """Have no taint evict a pod after a while: what is free would change while the scheduler chooses."""
    if isinstance(part, dict):
        part.pop("tolerationSeconds", None)
    if isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            _tolerate_for_ever(each)


def manifest(kind: str, body: Object) -> Object:
    """Give a generated object as the API server takes it: in the namespace of the test, with a UID that it chooses."""
    kept = {name: value for name, value in body["metadata"].items() if name not in {"namespace", "uid"}}
    return {"apiVersion": _DRA, "kind": kind, "metadata": kept, "spec": body["spec"]}


def allow_admin(case: Case) -> None:
    """Allow claims for administrators in the namespace of the test."""
    metadata = {"name": case.namespace, "labels": {"resource.kubernetes.io/admin-access": "true"}}
    case.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def taken(api: Api, body: Object) -> bool:
    """Create an object, and tell whether the API server finds it valid."""
    try:
        api.create(body)
    except ApiError as error:
        if error.code != UNPROCESSABLE:
            raise
        return False
    return True
