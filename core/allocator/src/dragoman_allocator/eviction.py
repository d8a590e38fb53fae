"""Which pods a NoExecute taint evicts, and when: what the device taint eviction controller does (KEP-5055)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from dragoman_allocator import times
from dragoman_allocator.accounting import Claims
from dragoman_allocator.allocation.taints import tolerates
from dragoman_allocator.amounts import wrap64
from dragoman_allocator.objects import (
    DeviceResult,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    Pod,
    ResourceClaim,
)
from dragoman_allocator.pool_status.lean import AnySlice

NO_EXECUTE: Final = "NoExecute"
_AT_ONCE: Final = datetime.min.replace(tzinfo=UTC)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A taint that an allocated device has and its claim does not tolerate for ever. ``rule``: its name, "" if none.

    ``at`` is when pods have to go: the taint's time plus ``tolerationSeconds``, or None where the time is not known.
    """

    claim: str
    driver: str
    pool: str
    device: str
    taint: DeviceTaint
    rule: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """A running pod that goes at ``at`` (at once where None), with every cause."""

    namespace: str
    name: str
    uid: str
    at: datetime | None
    causes: tuple[Cause, ...]


class Taints:
    """NoExecute taints by device: those in the newest slices of each pool, and those of rules with a selector."""

    def __init__(self, slices: Iterable[AnySlice], rules: Sequence[DeviceTaintRule]) -> None:
        self._rules = [rule for rule in rules if rule.spec.taint.effect == NO_EXECUTE and rule.spec.device_selector]
        self._devices: dict[tuple[str, str, str], list[DeviceTaint]] = {}
        for each in _newest(slices):
            for device in each.spec.devices or ():
                taints = [taint for taint in device.taints or () if taint.effect == NO_EXECUTE]
                self._devices.setdefault((each.spec.driver, each.spec.pool.name, device.name), taints)

    def of(self, result: DeviceResult) -> Iterator[tuple[str, DeviceTaint]]:
        """Give the name of the rule ("" for the driver's own) and the taint."""
        for taint in self._devices.get((result.driver, result.pool, result.device), ()):
            yield "", taint
        for rule in self._rules:
            selector = rule.spec.device_selector
            if (
                selector is not None
                and selector.driver in (None, result.driver)
                and selector.pool in (None, result.pool)
                and selector.device in (None, result.device)
            ):
                yield rule.metadata.name, rule.spec.taint


def causes(claim: ResourceClaim, taints: Taints) -> tuple[Cause, ...]:
    """Give the taints for which pods of an allocated claim go; none where it is not allocated or tolerates all."""
    allocation = claim.status.allocation
    return tuple(
        Cause(
            claim=claim.metadata.name,
            driver=result.driver,
            pool=result.pool,
            device=result.device,
            taint=taint,
            rule=rule,
            at=None if when is _AT_ONCE else when,
        )
        for result in (allocation.devices.results or () if allocation else ())
        for rule, taint in taints.of(result)
        if (when := _when(taint, result.tolerations or ())) is not _NEVER
    )


def evictions(pods: Iterable[Pod], claims: Claims, taints: Taints) -> list[Eviction]:
    """Give the pods that go, the first ones first. Only pods on a node that hold a reservation are looked at."""
    found = [eviction for pod in pods if (eviction := _eviction(pod, claims, taints)) is not None]
    return sorted(found, key=lambda each: (each.at or _AT_ONCE, each.namespace, each.name))


def _eviction(pod: Pod, claims: Claims, taints: Taints) -> Eviction | None:
    if not pod.spec.node_name:
        return None
    found = tuple(cause for claim in claims.reserved_for(pod) for cause in causes(claim, taints))
    if not found:
        return None
    first = min(cause.at or _AT_ONCE for cause in found)
    metadata = pod.metadata
    return Eviction(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        at=None if first is _AT_ONCE else first,
        causes=found,
    )


def _when(taint: DeviceTaint, tolerations: Iterable[DeviceToleration]) -> datetime:
    """Give the time, ``_NEVER`` where one toleration has no end. Only the effect NoExecute itself tolerates here."""
    seconds = None
    for toleration in tolerations:
        if toleration.effect != NO_EXECUTE or not tolerates(toleration, taint):
            continue
        if toleration.toleration_seconds is None:
            return _NEVER
        limit = max(toleration.toleration_seconds, 0)
        seconds = limit if seconds is None else min(seconds, limit)
    if taint.time_added is None:
        return _AT_ONCE
    # The controller counts in nanoseconds of 64 bits: some ten digits of seconds wrap around, and evict at once.
    delay = timedelta(microseconds=wrap64((seconds or 0) * 10**9) // 1000)
    try:
        return times.parse(taint.time_added) + delay
    except OverflowError:
        return _NEVER if delay > timedelta() else _AT_ONCE


def _newest(slices: Iterable[AnySlice]) -> list[AnySlice]:
    everything = list(slices)
    generations: dict[tuple[str, str], int] = {}
    for each in everything:
        key = each.spec.driver, each.spec.pool.name
        generations[key] = max(generations.get(key, each.spec.pool.generation), each.spec.pool.generation)
    return [
        each for each in everything if each.spec.pool.generation == generations[each.spec.driver, each.spec.pool.name]
    ]
