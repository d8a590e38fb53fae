"""Devices and counter sets made acceptable to the API, one by one: what one gets wrong costs no other its slice.

What limits the use of a device is never lost silently. A taint, a counter, a binding condition or the capacity of a
shareable device that cannot be published leaves the device out; what only describes it is cut or dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from dragoman.model import limits
from dragoman.model.capacities import amount_fault, fit_capacity
from dragoman.model.limits import Server, SliceWarning, Unfit
from dragoman.model.node_allocatable import fit_node_allocatable
from dragoman.model.slice_attributes import CORE_ATTRIBUTES, Warn, fit_attributes
from dragoman_hookspecs import CounterConsumption, CounterSet, Device, Taint

_EFFECTS = ("NoExecute", "NoSchedule", "None")
"""Taint effects, the gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A device as it can be published, or None and why not; with what had to be changed."""

    device: Device | None
    refusal: str = ""
    warnings: tuple[SliceWarning, ...] = ()


def fit_device(
    device: Device,
    *,
    driver: str,
    server: Server,
    sets: Mapping[str, CounterSet],
    first: Collection[str] = (),
    taint: Taint | None = None,
) -> Fitted:
    """Make a device acceptable, its attributes being complete; ``sets`` are those its manager may consume from.

    ``first`` names attributes that are kept before others; ``taint`` is that of its health.
    """
    warnings: list[SliceWarning] = []

    def warn(what: str, why: str) -> None:
        warnings.append(SliceWarning(device=device.name, what=what, why=why))

    try:
        fitted = _fit(device, driver, server, {*CORE_ATTRIBUTES, *first}, warn)
        _check_counters(device.counters, sets)
        fitted = replace(fitted, taints=_fit_taints(device.taints, taint, warn))
    except Unfit as error:
        warn("not published", str(error))
        return Fitted(device=None, refusal=str(error), warnings=tuple(warnings))
    return Fitted(device=fitted, warnings=tuple(warnings))


def fit_counter_sets(sets: Iterable[CounterSet], taken: Collection[str], warn: Warn) -> dict[str, CounterSet]:
    """Give the counter sets that the API takes, by name; ``taken`` are names that other managers have."""
    good: dict[str, CounterSet] = {}
    for item in sets:
        fault = _counters_fault(item.name, item.counters)
        if item.name in taken or item.name in good:
            fault = "the name stands twice on this node"
        if fault:
            warn(f"counter set {item.name}", f"dropped, and with it every device that consumes from it: {fault}")
        else:
            good[item.name] = item
    return good


def _fit(device: Device, driver: str, server: Server, first: Collection[str], warn: Warn) -> Device:
    if not limits.is_dns_label(device.name):
        raise Unfit("the name is not a DNS label of at most 63 characters")
    if device.allow_multiple_allocations and not server.takes_shareable:
        raise Unfit(f"shareable devices need Kubernetes 1.{limits.SHAREABLE_SINCE}, this is 1.{server.minor}")
    room = limits.ENTRIES_PER_DEVICE - len(CORE_ATTRIBUTES)
    capacity = fit_capacity(device.capacity, shareable=device.allow_multiple_allocations, room=room, warn=warn)
    attributes = fit_attributes(
        device.attributes,
        driver=driver,
        room=limits.ENTRIES_PER_DEVICE - len(capacity),
        lists=server.takes_lists,
        first=first,
        warn=warn,
    )
    conditions, failures = _fit_conditions(device, warn)
    return replace(
        device,
        attributes=attributes,
        capacity=capacity,
        node_allocatable=fit_node_allocatable(device.node_allocatable, capacity, warn),
        binding_conditions=conditions,
        binding_failure_conditions=failures,
    )


def _fit_conditions(device: Device, warn: Warn) -> tuple[tuple[str, ...], tuple[str, ...]]:
    given = (device.binding_conditions, device.binding_failure_conditions)
    ready, failed = (tuple(dict.fromkeys(names)) for names in given)
    if (ready, failed) != given:
        warn("binding conditions", "a name stood twice and was kept once")
    if bool(ready) != bool(failed):
        raise Unfit("binding conditions and binding failure conditions need each other")
    if max(len(ready), len(failed)) > limits.BINDING_CONDITIONS:
        raise Unfit(f"it has more than {limits.BINDING_CONDITIONS} binding conditions of one kind")
    if both := sorted({*ready} & {*failed}):
        raise Unfit(f"{both[0]} is both a binding condition and a binding failure condition")
    if bad := sorted(name for name in (*ready, *failed) if not limits.is_label_key(name)):
        raise Unfit(f"{bad[0]!r} cannot be the name of a binding condition")
    return ready, failed


def _fit_taints(taints: Collection[Taint], own: Taint | None, warn: Warn) -> tuple[Taint, ...]:
    """Bring the gravest taints first and cut those beyond the limit; that of the device's health always stays."""
    good = [_fit_taint(taint, warn) for taint in taints]
    good.sort(key=lambda taint: _EFFECTS.index(taint.effect))
    if own is not None:
        good.insert(0, own)
    for taint in good[limits.TAINTS_PER_DEVICE :]:
        warn(f"taint {taint.key}", f"dropped: a device has at most {limits.TAINTS_PER_DEVICE} taints")
    return tuple(good[: limits.TAINTS_PER_DEVICE])


def _fit_taint(taint: Taint, warn: Warn) -> Taint:
    if not limits.is_label_key(taint.key) or taint.effect not in _EFFECTS:
        raise Unfit(f"the taint {taint.key!r} with effect {taint.effect!r} cannot be published")
    if not limits.is_label_value(taint.value):
        warn(f"taint {taint.key}", "the value is not a label value and was emptied")
        return replace(taint, value="")
    return taint


def _check_counters(consumed: Collection[CounterConsumption], sets: Mapping[str, CounterSet]) -> None:
    names = [item.counter_set for item in consumed]
    if len(names) > limits.CONSUMPTIONS_PER_DEVICE or len(set(names)) < len(names):
        raise Unfit(f"it consumes from more than {limits.CONSUMPTIONS_PER_DEVICE} counter sets or from one twice")
    for item in consumed:
        if item.counter_set not in sets:
            raise Unfit(f"it consumes from counter set {item.counter_set}, which is not published")
        if fault := _counters_fault(item.counter_set, item.counters):
            raise Unfit(f"what it consumes from counter set {item.counter_set}: {fault}")
        if missing := sorted(item.counters.keys() - sets[item.counter_set].counters.keys()):
            raise Unfit(f"counter set {item.counter_set} has no counter {missing[0]}")


def _counters_fault(name: str, counters: Mapping[str, str]) -> str:
    if not limits.is_dns_label(name):
        return "the name is not a DNS label"
    if not 0 < len(counters) <= limits.COUNTERS_PER_SET:
        return f"it needs 1 to {limits.COUNTERS_PER_SET} counters"
    for counter, value in sorted(counters.items()):
        if not limits.is_dns_label(counter):
            return f"the counter name {counter!r} is not a DNS label"
        if fault := amount_fault(value):
            return f"counter {counter}: {fault}"
    return ""
