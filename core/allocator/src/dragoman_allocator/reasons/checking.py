"""Every check that one device fails for one request, in words and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dragoman_allocator.allocation import Check
from dragoman_allocator.allocation.capacity import Amounts
from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.pools import Pool, device_reaches
from dragoman_allocator.allocation.prepare import Library, Request
from dragoman_allocator.allocation.rules import Copy
from dragoman_allocator.allocation.selectors import SelectorFailed
from dragoman_allocator.allocation.target import Target
from dragoman_allocator.allocation.view import NodeView
from dragoman_allocator.decode import to_json
from dragoman_allocator.errors import AllocationFailed, InvalidInput
from dragoman_allocator.objects import DeviceSelector
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.pool_status import Holder
from dragoman_allocator.quantity import parse
from dragoman_allocator.reasons.facts import Facts
from dragoman_allocator.reasons.model import Finding

UNWANTED: Final = frozenset(
    {Check.BINDING_CONDITIONS, Check.CLASS_SELECTOR, Check.REQUEST_SELECTOR, Check.NODE, Check.CAPACITY_UNFIT}
)
"""Checks that fail for devices which the request does not ask for, whatever is free."""

_NODE_OPERATIONS: Final = "DRAOptionalNodeOperations"
_ORDER: Final = {check: rank for rank, check in enumerate(Check)}
# Requests for all devices look for what matches before they look at who uses it, and at what is left of it last.
_ORDER_OF_ALL: Final = _ORDER | {Check.IN_USE: _ORDER[Check.CAPACITY_UNFIT] + 0.5, Check.CAPACITY_USED: len(_ORDER)}


class Checking:
    """Checks devices of a node for one request, as if the attempt held nothing else."""

    def __init__(self, facts: Facts, library: Library, view: NodeView, target: Target, *, takes_all: bool) -> None:
        self._facts = facts
        self._library = library
        self._view = view
        self._target = target
        self._takes_all = takes_all
        self._order = _ORDER_OF_ALL if takes_all else _ORDER
        rules = facts.rules
        self._refuse_skips = rules.copy is Copy.EXPERIMENTAL and not (
            rules.node_operations and _NODE_OPERATIONS in (view.node.status.declared_features or ())
        )

    def findings(self, device: DeviceRecord, pool: Pool, request: Request) -> tuple[Finding, ...]:
        """Give what the device fails, in the scheduler's order.

        Raises ``AllocationFailed`` where the scheduler would get so far with the device that it ends the attempt.
        """
        held = self._held(device)
        try:
            passes = isinstance(self._view.examine(self._target, device), Amounts)
        except AllocationFailed:
            if held and not self._takes_all:
                return tuple(held)
            raise
        found = [*held, *self._taints(device), *self._counters(device, pool), *self._capacity(device, request)]
        if device.skips and self._refuse_skips:
            found.append(
                Finding(check=Check.NODE_OPERATIONS, text="skips node operations, which the node does not support")
            )
        found += self._needs(device, found) if passes else [*self._selectors(device, request), *self._scope(device)]
        return tuple(sorted(found, key=lambda each: self._order[each.check]))

    def _needs(self, device: DeviceRecord, found: Iterable[Finding]) -> list[Finding]:
        try:
            return list(self._constraints(device))
        except AllocationFailed:
            if any(self._order[each.check] < self._order[Check.CONSTRAINT] for each in found):
                return []  # the scheduler does not get here
            raise

    def _held(self, device: DeviceRecord) -> list[Finding]:
        if not self._target.blocked(device.use):
            return []
        held = self._facts.holders(device.id)
        return [Finding(check=Check.IN_USE, text=f"held by {_named(held)}", data=_holders(held))]

    def _selectors(self, device: DeviceRecord, request: Request) -> Iterator[Finding]:
        if device.unbindable:
            yield Finding(check=Check.BINDING_CONDITIONS, text="has binding conditions, which are off in this cluster")
        name = self._target.class_name
        of_class = self._target.device_class.spec.selectors
        for index, expression in self._false(device, of_class):
            yield Finding(
                check=Check.CLASS_SELECTOR,
                text=f"selector #{index} of class {name} is false: {expression}",
                data={"class": name, "selector": index, "expression": expression},
            )
        for index, expression in self._false(device, request.selectors):
            yield Finding(
                check=Check.REQUEST_SELECTOR,
                text=f"selector #{index} of the request is false: {expression}",
                data={"selector": index, "expression": expression},
            )

    def _false(self, device: DeviceRecord, selectors: Sequence[DeviceSelector] | None) -> Iterator[tuple[int, str]]:
        for index, selector in enumerate(selectors or ()):
            expression = selector.cel.expression if selector.cel is not None else ""
            try:
                if self._library.selectors.chain((expression,), ()).first_false(device) is not None:
                    yield index, expression
            except SelectorFailed:
                continue  # the scheduler does not get here: an earlier selector is false

    def _scope(self, device: DeviceRecord) -> Iterator[Finding]:
        try:
            if device.per_device and not device_reaches(device, self._view.node):
                yield Finding(check=Check.NODE, text="is for other nodes")
        except InvalidInput:
            return  # as in _false

    def _capacity(self, device: DeviceRecord, request: Request) -> Iterator[Finding]:
        try:
            amounts = self._target.demand.on(device)
        except InvalidInput:
            return  # as in _false
        if amounts is None:
            yield Finding(check=Check.CAPACITY_UNFIT, text=_unfit(device, request))
        elif not amounts.fit(device.use):
            yield from self._used(device, amounts)

    def _used(self, device: DeviceRecord, amounts: Amounts) -> Iterator[Finding]:
        held = self._facts.holders(device.id)
        # Before 1.37, a request for all devices left out those whose capacity others use.
        check = Check.CAPACITY_UNFIT if self._takes_all and not self._facts.rules.fixed else Check.CAPACITY_USED
        for name, taken in amounts.taken:
            total = parse((device.spec.capacity or {})[name].value)
            free = total - parse(f"{device.use.consumed.get(name, 0)}n")
            asked = amounts.recorded[name]
            text, data = f"capacity {name}: {asked} asked for", {"capacity": name, "asked": asked, "total": total.text}
            if taken > total.nanos:
                yield Finding(check=Check.CAPACITY_UNFIT, text=f"{text}, the device has {total.text}", data=data)
            elif taken > free.nanos:
                text += f", {free.text} of {total.text} free"
                yield Finding(
                    check=check,
                    text=f"{text}, shared by {_named(held)}" if held else text,
                    data={**data, "free": free.text, **_holders(held)},
                )

    def _counters(self, device: DeviceRecord, pool: Pool) -> Iterator[Finding]:
        if not device.consumes:
            return
        rules, use = self._facts.rules, device.use
        if not rules.partitionable:
            yield Finding(check=Check.COUNTERS_OFF, text="consumes counters, which are off in this cluster")
            return
        if device.shareable and (use.shared if rules.fixed else use.recorded):
            return
        if pool.groups is not None:
            saved = pool.groups.take(device)
            if saved is None:
                yield Finding(check=Check.GROUPS, text="its compatibility groups do not go with those in use")
            else:
                pool.groups.give(saved)
        if pool.counters is not None:
            if not pool.counters.take(device):
                yield from self._short(device, pool)
            else:
                pool.counters.give(device)

    def _short(self, device: DeviceRecord, pool: Pool) -> Iterator[Finding]:
        assert pool.counters is not None
        users = [other.id for other in pool.counters.charges if other.use.allocated]
        held = [holder for user in users for holder in self._facts.holders(user)]
        for short in self._facts.shortages(device, pool.counters):
            text = f"counter {short.counter} of {short.counter_set}: {short.needed} needed"
            data = {
                "counterSet": short.counter_set,
                "counter": short.counter,
                "needed": short.needed,
                "left": short.left,
                "total": short.total,
            }
            if short.for_ever:
                yield Finding(check=Check.COUNTERS, text=f"{text}, the pool has {short.total}", data=data)
                continue
            text += f", {short.left} left"
            yield Finding(
                check=Check.COUNTERS,
                text=f"{text}, devices in use by {_named(held)}" if held else text,
                data={**data, **_holders(held)},
            )

    def _taints(self, device: DeviceRecord) -> Iterator[Finding]:
        if not device.blocking:
            return
        for taint, rule in self._facts.taints(device, self._target.tolerations):
            text = f"taint {taint.key}={taint.value}:{taint.effect}"
            yield Finding(
                check=Check.TAINT,
                text=f"{text} of rule {rule}" if rule else f"{text} of its driver",
                data={"taint": to_json(taint), "rule": rule},
            )

    def _constraints(self, device: DeviceRecord) -> Iterator[Finding]:
        lacking: dict[str, None] = {}
        for constraint, look in self._target.constraints:
            value = look(device)
            if value is not None and constraint.push(value):
                constraint.pop()
            else:
                lacking[constraint.attribute] = None
        for attribute in lacking:
            yield Finding(
                check=Check.CONSTRAINT,
                text=f"lacks attribute {attribute}, which a constraint compares",
                data={"attribute": attribute},
            )


def _unfit(device: DeviceRecord, request: Request) -> str:
    asked = (request.capacity.requests if request.capacity is not None else None) or {}
    missing = [name for name in asked if name not in (device.spec.capacity or {})]
    if missing:
        return f"has no capacity {', '.join(missing)}"
    return "its request policy does not allow the capacity asked for"


def _named(held: Sequence[Holder]) -> str:
    if not held:
        return "a claim that is gone"
    names = list(dict.fromkeys(_holder(each) for each in held))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _holder(held: Holder) -> str:
    users = ", ".join(held.reserved_for)
    return f"claim {held.claim} ({users})" if users else f"claim {held.claim}"


def _holders(held: Sequence[Holder]) -> JsonObject:
    entries = [{"claim": each.claim, "request": each.request, "reservedFor": list(each.reserved_for)} for each in held]
    return {"holders": entries} if entries else {}
