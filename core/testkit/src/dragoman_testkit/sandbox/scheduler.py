"""A scheduler for one node that takes the first device that fits.

It stands in for the exact allocator, which is a library of its own: no backtracking, no constraints, no counters, no
admin access, and of CEL only comparisons. What it does not know it refuses by name.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dragoman.model import quantity
from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_testkit.sandbox import scheduler_capacity as capacities
from dragoman_testkit.sandbox.apiserver import ApiFault, ApiServer
from dragoman_testkit.sandbox.plain_cel import Candidate, SelectorError, compile_selector

DeviceId = tuple[str, str, str]
"""Driver, pool and device."""


class Unschedulable(DragomanError):
    """The pod cannot run on this node now."""


@dataclass(slots=True)
class _Usage:
    """What claims hold: devices as a whole, and amounts of shared ones."""

    whole: set[DeviceId] = field(default_factory=set)
    amounts: dict[DeviceId, dict[str, Fraction]] = field(default_factory=dict)

    def take(self, device: DeviceId, share: str | None, amounts: Mapping[str, Fraction]) -> None:
        """Note one allocation."""
        if not share:
            self.whole.add(device)
            return
        held = self.amounts.setdefault(device, {})
        for name, amount in amounts.items():
            held[name] = held.get(name, Fraction(0)) + amount


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """One request or sub-request; ``reference`` is its full name."""

    reference: str
    body: JsonObject
    device_class: JsonObject


class Scheduler:
    """Allocates the claims of pods and reserves them, by what the API server holds."""

    def __init__(self, api: ApiServer, node_name: str) -> None:
        self._api = api
        self._node = node_name

    def schedule(self, pod: JsonObject, claims: Sequence[JsonObject]) -> None:
        """Allocate and reserve the claims for the pod: all of them, or none. Raises ``Unschedulable``."""
        usage = self._usage()
        allocations = [(claim, self._allocation(claim, usage)) for claim in claims]
        for claim, allocation in allocations:
            status = dict(claim.get("status") or {})
            reserved = list(status.get("reservedFor") or ())
            metadata = pod["metadata"]
            if all(consumer["uid"] != metadata["uid"] for consumer in reserved):
                reserved.append({"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]})
            self._api.update_status({**claim, "status": {**status, "allocation": allocation, "reservedFor": reserved}})

    def _allocation(self, claim: JsonObject, usage: _Usage) -> JsonObject:
        present: JsonObject | None = (claim.get("status") or {}).get("allocation")
        if present:
            return present
        devices = claim["spec"].get("devices") or {}
        where = f"claim {claim['metadata']['namespace']}/{claim['metadata']['name']}"
        if devices.get("constraints"):
            raise Unschedulable(f"{where} has constraints, which the sandbox's scheduler does not know")
        try:
            chosen = [self._request(request, usage) for request in devices.get("requests") or ()]
        except (SelectorError, Unschedulable, quantity.InvalidQuantity) as error:
            raise Unschedulable(f"{where}: {error}") from error
        asks = [ask for ask, _ in chosen]
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [self._node]}]}]
        return {
            "devices": {
                "results": [result for _, results in chosen for result in results],
                "config": list(_configs(devices.get("config") or (), asks)),
            },
            "nodeSelector": {"nodeSelectorTerms": terms},
        }

    def _request(self, request: JsonObject, usage: _Usage) -> tuple[_Ask, list[JsonObject]]:
        name = request["name"]
        if "firstAvailable" not in request:
            ask = self._ask(name, request.get("exactly") or {})
            return ask, self._take(ask, usage)
        reasons = []
        for alternative in request["firstAvailable"]:
            ask = self._ask(f"{name}/{alternative['name']}", alternative)
            try:
                return ask, self._take(ask, usage)
            except Unschedulable as error:
                reasons.append(str(error))
        raise Unschedulable("; ".join(reasons))

    def _ask(self, reference: str, body: JsonObject) -> _Ask:
        if body.get("adminAccess") or body.get("allocationMode", "ExactCount") != "ExactCount":
            raise Unschedulable(f"request {reference}: only counts of devices are known here, no admin access, no All")
        try:
            device_class = self._api.get("deviceclasses", body.get("deviceClassName", ""))
        except ApiFault as fault:
            raise Unschedulable(f"request {reference}: {fault.message}") from fault
        return _Ask(reference=reference, body=body, device_class=device_class)

    def _take(self, ask: _Ask, usage: _Usage) -> list[JsonObject]:
        """Take as many devices as asked for; what is taken is noted in ``usage`` only if all are there."""
        expressions = [*_expressions(ask.device_class["spec"]), *_expressions(ask.body)]
        selectors = [compile_selector(expression) for expression in expressions]
        suitable = [device for device in self._devices() if all(selector(device) for selector in selectors)]
        count = int(ask.body.get("count", 1))
        trial = _Usage(set(usage.whole), {device: dict(held) for device, held in usage.amounts.items()})
        results: list[JsonObject] = []
        while len(results) < count:
            taken = next((got for device in suitable if (got := _try(ask, device, trial))), None)
            if taken is None:
                class_ = f"class {ask.body.get('deviceClassName')}"
                fit = f"{len(suitable)} of {class_} fit, not enough of them are free"
                have = fit if suitable else f"no device of this node fits {class_}"
                raise Unschedulable(f"request {ask.reference}: {count} device(s) wanted, {have}")
            results.append(taken)
        usage.whole, usage.amounts = trial.whole, trial.amounts
        return results

    def _devices(self) -> Iterator[Candidate]:
        """List the devices of the newest generation of each complete pool of this node."""
        pools: dict[tuple[str, str], list[JsonObject]] = {}
        for slice_ in self._api.list("resourceslices", field_selector=f"spec.nodeName={self._node}"):
            spec = slice_["spec"]
            pools.setdefault((spec["driver"], spec["pool"]["name"]), []).append(spec)
        for (driver, pool), specs in pools.items():
            newest = max(spec["pool"]["generation"] for spec in specs)
            current = [spec for spec in specs if spec["pool"]["generation"] == newest]
            if len(current) == current[0]["pool"]["resourceSliceCount"]:
                for body in (device for spec in current for device in spec.get("devices") or ()):
                    if _plain(body):
                        yield Candidate(driver=driver, pool=pool, name=body["name"], body=body)

    def _usage(self) -> _Usage:
        usage = _Usage()
        for claim in self._api.list("resourceclaims"):
            allocation = (claim.get("status") or {}).get("allocation") or {}
            results = (allocation.get("devices") or {}).get("results") or ()
            for result in (result for result in results if not result.get("adminAccess")):
                amounts = {k: quantity.parse(str(v)) for k, v in (result.get("consumedCapacity") or {}).items()}
                usage.take((result["driver"], result["pool"], result["device"]), result.get("shareID"), amounts)
        return usage


def _plain(body: Mapping[str, Any]) -> bool:
    """Tell whether a device is of the sort that can be given here: no counters, no taint that keeps claims away."""
    taints = [taint["effect"] for taint in body.get("taints") or ()]
    return not body.get("consumesCounters") and not {"NoSchedule", "NoExecute"} & set(taints)


def _try(ask: _Ask, device: Candidate, usage: _Usage) -> JsonObject | None:
    """Give the result if the device can be had, and note it."""
    key = (device.driver, device.pool, device.name)
    capacity = device.body.get("capacity") or {}
    requested = (ask.body.get("capacity") or {}).get("requests") or {}
    result: JsonObject = {"request": ask.reference, "driver": device.driver, "pool": device.pool, "device": device.name}
    if key in usage.whole:
        return None
    if not device.shareable:
        if key in usage.amounts or not capacities.satisfies(capacity, requested):
            return None
        usage.take(key, None, {})
        return result
    amounts = capacities.consumed(capacity, requested)
    if amounts is None or not capacities.fits(capacity, amounts, usage.amounts.get(key, {})):
        return None
    result["shareID"] = str(uuid.uuid4())
    if amounts:
        result["consumedCapacity"] = {name: quantity.text(amount) for name, amount in amounts.items()}
    usage.take(key, result["shareID"], amounts)
    return result


def _expressions(owner: JsonObject) -> Iterator[str]:
    for selector in owner.get("selectors") or ():
        yield (selector.get("cel") or {}).get("expression", "")


def _configs(of_claim: Iterable[JsonObject], asks: Sequence[_Ask]) -> Iterator[JsonObject]:
    """Give the class's configuration of each request, then what the claim says of requests that were taken."""
    for ask in asks:
        for entry in ask.device_class["spec"].get("config") or ():
            yield {**entry, "source": "FromClass", "requests": [ask.reference]}
    taken = {name for ask in asks for name in (ask.reference, ask.reference.partition("/")[0])}
    for entry in of_claim:
        if not entry.get("requests") or taken & set(entry["requests"]):
            yield {**entry, "source": "FromClaim"}
