"""What findings name beside a device: who holds it, the rule behind a taint, what is left of counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dragoman_allocator.allocation import DeviceId
from dragoman_allocator.allocation.counters import CounterLedger
from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.pools import PoolId
from dragoman_allocator.allocation.rules import Rules
from dragoman_allocator.allocation.taints import blocking, rules_for, untolerated
from dragoman_allocator.objects import DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceClaim, ResourceSlice
from dragoman_allocator.pool_status import Holder, holders
from dragoman_allocator.quantity import Quantity, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A counter that would fall below zero, ``for_ever``: also if nobody used it; amounts as the API prints them."""

    counter_set: str
    counter: str
    needed: str
    left: str
    total: str
    for_ever: bool


class Facts:
    """Indexes over the objects of a cluster."""

    def __init__(
        self,
        slices: Sequence[ResourceSlice],
        taint_rules: Sequence[DeviceTaintRule],
        claims: Iterable[ResourceClaim],
        rules: Rules,
    ) -> None:
        self.rules = rules
        self.slices: dict[PoolId, list[ResourceSlice]] = {}
        self._pools: dict[str | None, set[PoolId]] = {}
        for each in slices:
            pool_id = each.spec.driver, each.spec.pool.name
            self.slices.setdefault(pool_id, []).append(each)
            self._pools.setdefault(each.spec.node_name or None, set()).add(pool_id)
        self._taint_rules = taint_rules if rules.taint_rules else ()
        self._holders: dict[DeviceId, list[Holder]] = {}
        for (driver, pool), held in holders(claims).items():
            for holder in held:
                if not holder.admin_access:
                    self._holders.setdefault((driver, pool, holder.device), []).append(holder)

    def pools(self, node: str) -> list[PoolId]:
        """Give the pools with slices that name the node or none, sorted."""
        return sorted(self._pools.get(node, set()) | self._pools.get(None, set()))

    def holders(self, device: DeviceId) -> Sequence[Holder]:
        """Give who holds the device or shares of it; admin access holds nothing."""
        return self._holders.get(device, ())

    def taints(
        self, device: DeviceRecord, tolerations: Sequence[DeviceToleration]
    ) -> Iterator[tuple[DeviceTaint, str]]:
        """Give the taints that keep the device from such a request, and the name of their rule ("" for the driver)."""
        sources: list[tuple[str, Sequence[DeviceTaint]]] = [("", device.spec.taints or ())]
        for rule in self._taint_rules:
            for name, taint in rules_for([rule], device.slice, fixed=self.rules.fixed):
                if name in (None, device.spec.name):
                    sources.append((rule.metadata.name, (taint,)))
        for rule_name, taints in sources:
            for taint in blocking(taints):
                if untolerated((taint,), tolerations):
                    yield taint, rule_name

    def shortages(self, device: DeviceRecord, ledger: CounterLedger) -> list[Shortage]:
        """Give the counters of the pool that would be short with the device, also those that it does not consume."""
        totals = self._totals(device)
        left = _left(totals, ledger)
        needed: dict[tuple[str, str], Quantity] = {}
        for part in device.spec.consumes_counters or ():
            for name, counter in (part.counters or {}).items():
                needed[part.counter_set, name] = parse(counter.value)
        return [
            Shortage(
                counter_set=key[0],
                counter=key[1],
                needed=amount.text,
                left=left[key].text,
                total=total.text,
                for_ever=amount > total,
            )
            for key, total in totals.items()
            if (amount := needed.get(key, _ZERO)) > left[key]
        ]

    def _totals(self, device: DeviceRecord) -> dict[tuple[str, str], Quantity]:
        generation = device.slice.spec.pool.generation
        return {
            (counters.name, name): parse(counter.value)
            for part in self.slices.get(device.id[:2], ())
            if part.spec.pool.generation == generation
            for counters in part.spec.shared_counters or ()
            for name, counter in (counters.counters or {}).items()
        }


def _left(totals: Mapping[tuple[str, str], Quantity], ledger: CounterLedger) -> dict[tuple[str, str], Quantity]:
    left = dict(totals)
    for other in ledger.charges:
        if other.use.allocated:
            for part in other.spec.consumes_counters or ():
                for name, counter in (part.counters or {}).items():
                    left[part.counter_set, name] -= parse(counter.value)
    return left


_ZERO = parse("0")
