"""Random pools on the real node, requests for their status, and what the library and the command say of them."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from dragoman_allocator.decode import decode
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceTaintRule, PoolStatusRequest, ResourceClaim, ResourceSlice
from dragoman_allocator.pool_status import PoolIncomplete, pool_status
from dragoman_allocator.quantity import parse
from tests.cluster import build
from tests.cluster.api import ApiError, Object
from tests.cluster.case import Case
from tests.cluster.worlds import UNPROCESSABLE, allow_admin, manifest, taken
from tests.differential.worlds import pool_status as worlds
from tests.differential.worlds.dice import Dice

BUILT_IN = ("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest")
OWN = ("resource.dragoman.dev/v1alpha1", "ResourcePoolStatusRequest")
CLUSTER = Features.of_release(f"1.{build.minor()}")
NEWEST = Features()
"""By whose rules the cluster's own controller answers, and by whose ours and the command do in any cluster."""
_RULES = build.minor() >= 37
"""Whether rules of taints are there, and count."""
_NUMBERS = itertools.count(1)


class Pools:
    """Slices, claims that hold devices of them and rules of taints, as far as the API server takes them."""

    def __init__(self, case: Case, name: str) -> None:
        self._case = case
        self._name = name
        self._world = worlds.make(Dice(name), "mixed")

    @contextmanager
    def on_node(self) -> Iterator[None]:
        """Keep them in the API server."""
        made: list[Object] = []
        allow_admin(self._case)
        try:
            for kind, member in (("ResourceSlice", "slices"), ("DeviceTaintRule", "taintRules" if _RULES else "")):
                bodies = (manifest(kind, fitted(each)) for each in self._world.get(member, ()))
                made += (body for body in bodies if taken(self._case.api, body))
            for claim in self._world["claims"]:
                made += _held(self._case, manifest("ResourceClaim", claim), claim.get("status"))
            yield
        finally:
            _delete(self._case, made)

    def questions(self, count: int) -> list[Object]:
        """Give specs of requests about them."""
        others = (worlds.make(Dice(f"{self._name}-{i}"), "small") for i in range(1, count))
        return [world["request"]["spec"] for world in (self._world, *others)]


class Requests:
    """Requests of one kind; ``kind`` is its apiVersion and name. All are deleted by ``close``."""

    def __init__(self, case: Case, kind: tuple[str, str]) -> None:
        self._case = case
        self._kind = kind
        self.path = f"/apis/{kind[0]}/resourcepoolstatusrequests"
        self._made: list[str] = []

    def ask(self, **spec: object) -> Object:
        """Create a request, and give it as the API server has made it. Raises ``ApiError``."""
        version, kind = self._kind
        name = f"{self._case.namespace}-q{next(_NUMBERS)}"
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        made = self._case.api.request("POST", self.path, body)
        self._made.append(name)
        return made

    def get(self, request: Object) -> Object:
        """Give it as it is now. Raises ``ApiError``."""
        return self._case.api.request("GET", f"{self.path}/{request['metadata']['name']}")

    def answer(self, request: Object) -> Object:
        """Wait for the answer, and give it without its times."""
        name = request["metadata"]["name"]
        status: Object = self._case.until(lambda: self.get(request).get("status"), f"request {name} is answered")
        return plain(status)

    def settle(self) -> None:
        """Wait until who answers has seen every slice, claim and rule: it knows those of a driver that comes last."""
        driver = f"last-{next(_NUMBERS)}.example.com"
        with _last(self._case, driver):
            expected = (1, 1 if _RULES else 0)
            self._case.until(lambda: self._counted(driver) == expected, "who answers requests has seen all objects")

    def names(self) -> set[str]:
        """Give the names of all that are there."""
        return {each["metadata"]["name"] for each in self._case.api.request("GET", self.path)["items"]}

    def close(self) -> None:
        """Delete them."""
        for name in self.names().intersection(self._made):
            self._case.api.request("DELETE", f"{self.path}/{name}")
        self._made.clear()

    def _counted(self, driver: str) -> tuple[int, int] | None:
        pools = self.answer(self.ask(driver=driver)).get("pools") or [{}]
        return pools[0].get("allocatedDevices", 0), pools[0].get("unavailableDevices", 0)


def of_library(case: Case, request: Object, features: Features) -> Object | None:
    """Give the library's answer from the API server's objects without its times, None while a pool is incomplete."""
    rules = case.api.list("DeviceTaintRule") if _RULES else []
    try:
        status = pool_status(
            [decode(ResourceSlice, each) for each in case.api.list("ResourceSlice")],
            [decode(ResourceClaim, each) for each in case.api.list("ResourceClaim", everywhere=True)],
            [decode(DeviceTaintRule, each) for each in rules],
            decode(PoolStatusRequest, {"metadata": {"name": request["metadata"]["name"]}, "spec": request["spec"]}),
            features,
            "2026-01-01T00:00:00Z",
        )
    except PoolIncomplete:
        return None
    return plain(msgspec.to_builtins(status))


def of_command(case: Case, spec: Object) -> list[Object]:
    """Give the pools that ``dragoman pools`` shows for the same question, all of them."""
    words = ["--kubeconfig", str(case.node.disk / "admin.kubeconfig"), "--output", "json"]
    for option, member in (
        ("--driver", "driver"),
        ("--pool", "poolName"),
        ("--partition-attribute", "defaultPartitionTypeAttribute"),
    ):
        words += [option, spec[member]] if member in spec else []
    return numbers(json.loads(case.agent.cli("pools", *words)))


def fitted(body: Object) -> Object:
    """Have a generated slice or rule fit a cluster with few gates and other drivers, most of whose slices it refuses.

    Attributes have no lists, types of partitions stand where there are partitions, rules name a driver of the world,
    and generations begin with 1: about a pool of generation 0 the API server refuses its own controller's answer.
    """
    spec: Object = copy.deepcopy(body["spec"])
    if "deviceSelector" in spec:
        spec["deviceSelector"] = {"driver": "driver-a"} | spec["deviceSelector"]
    if "pool" in spec:
        spec["pool"]["generation"] += 1
    devices = spec.get("devices") or ()
    for device in devices:
        attributes = device["attributes"].items() if "attributes" in device else ()
        device["attributes"] = {name: value for name, value in attributes if {"ints", "strings"}.isdisjoint(value)}
    if not any("consumesCounters" in device for device in devices):
        spec.pop("partitionTypeAttribute", None)
    return body | {"spec": spec}


def plain(status: Object) -> Object:
    """Give an answer without its times, and amounts as numbers.

    How upstream writes a sum, as ``1Gi`` or 1073741824, depends on the order in which a map gives the slices.
    """
    conditions = [{k: v for k, v in each.items() if k != "lastTransitionTime"} for each in status["conditions"]]
    return status | {"conditions": conditions, "pools": numbers(status.get("pools", []))}


def numbers(pools: list[Object]) -> list[Object]:
    """Give pools with amounts as numbers."""
    return [_numbered(pool) for pool in pools]


def _numbered(pool: Object) -> Object:
    summary = pool.get("shareableSummary")
    if not summary:
        return pool
    capacity = [
        {member: value if member == "name" else parse(value) for member, value in each.items()}
        for each in summary.get("capacity", ())
    ]
    return pool | {"shareableSummary": summary | {"capacity": capacity}}


def _held(case: Case, claim: Object, status: Object | None) -> list[Object]:
    """Create a claim that holds devices; give it, or nothing where the API server does not take it."""
    if not taken(case.api, claim):
        return []
    try:
        case.api.patch("ResourceClaim", claim["metadata"]["name"], {"status": status or {}}, sub="status")
    except ApiError as error:
        if error.code != UNPROCESSABLE:
            raise
    return [claim]


@contextmanager
def _last(case: Case, driver: str) -> Iterator[None]:
    """Keep a pool of two devices, one held and one tainted."""
    name = driver.partition(".")[0]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    taint = {"key": "last", "effect": "NoSchedule"}
    selector = {"driver": driver, "device": "tainted"}
    devices = {"requests": [{"name": "r", "exactly": {"deviceClassName": "any"}}]}
    held = {"results": [{"request": "r", "driver": driver, "pool": name, "device": "held"}]}
    named = {"metadata": {"name": name}}
    spec = {"driver": driver, "allNodes": True, "pool": pool, "devices": [{"name": "held"}, {"name": "tainted"}]}
    made = [manifest("ResourceSlice", named | {"spec": spec})]
    if _RULES:
        made.append(manifest("DeviceTaintRule", named | {"spec": {"taint": taint, "deviceSelector": selector}}))
    case.create(*made)
    try:
        claim = manifest("ResourceClaim", named | {"spec": {"devices": devices}})
        made += _held(case, claim, {"allocation": {"devices": held}})
        yield
    finally:
        _delete(case, made)


def _delete(case: Case, made: list[Object]) -> None:
    for each in made:
        case.api.delete(each["kind"], each["metadata"]["name"])
